import { readFileSync } from 'node:fs';
import { Properties } from 'properties-file/parser';
import type { Origin, Problem } from './problem.js';
import { isPattern, PROPERTIES } from './properties.js';

/** A value before expansion. */
export interface RawSetting {
  readonly key: string;
  readonly text: string;
  readonly origin: Origin;
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file', ENOTDIR: 'there is no such file', EISDIR: 'it is a folder', EACCES: 'this user may not read it', EPERM: 'this user may not read it',
};

/** Reads a file in the format of java.util.Properties (UTF-8). Of equal keys the last one counts, as in Java. */
export function readPropertiesFile(path: string): { settings: RawSetting[]; problem?: Problem } {
  try {
    const parsed = new Properties(readFileSync(path));
    const settings = parsed.getProperties().map((p): RawSetting => ({ key: p.key, text: p.value, origin: { kind: 'file', line: p.startingLineNumber } }));
    return { settings: [...new Map(settings.map((s) => [s.key, s])).values()] };
  } catch (error) {
    // A broken escape is reported with the text around it, which may be a secret, so only file errors are passed on.
    const reason = error instanceof Error && 'code' in error ? FILE_ERRORS[String(error.code)] ?? `the system answers ${String(error.code)}` : 'it is not a properties file: a \\u escape is malformed';
    return { settings: [], problem: { code: 'CONFIG_UNREADABLE', message: `${path} cannot be read: ${reason}.`, remedy: 'Check the path given with -c and the file permissions.' } };
  }
}

/** Environment names of a key by the MicroProfile rule, in the order they are looked up: exact, `_` for other characters, upper case. */
export function environmentNames(key: string): [string, string, string] {
  const underscored = key.replaceAll(/[^A-Za-z0-9]/g, '_');
  return [key, underscored, underscored.toUpperCase()];
}

/** Value of a key in the environment. An empty variable counts as unset. */
export function fromEnvironment(env: NodeJS.ProcessEnv, key: string): { text: string; variable: string } | undefined {
  for (const variable of environmentNames(key)) {
    const text = env[variable];
    if (text !== undefined && text !== '') return { text, variable };
  }
  return undefined;
}

const OUR_VARIABLE = /^(DEBEZIUM_(SOURCE|SINK|FORMAT|TRANSFORMS|PREDICATES|API)|WALBERG|QUARKUS_(HTTP|LOG|MANAGEMENT))(_|$)/;
/** Kubernetes announces a Service named walberg by WALBERG_PORT, WALBERG_SERVICE_HOST, … */
const SERVICE_LINK = /^WALBERG_(PORT$|PORT_[0-9]|SERVICE_(HOST|PORT))/;

/**
 * Every property the environment sets: declared names, names in the file, and names that only the environment has. Of those
 * the spelling is lost, so letters are lower case and underscores are dots, as in SmallRye.
 */
export function readEnvironment(env: NodeJS.ProcessEnv, fileKeys: readonly string[]): RawSetting[] {
  const found = new Map<string, RawSetting>();
  const used = new Set<string>();
  for (const key of [...PROPERTIES.filter((p) => !isPattern(p)).map((p) => p.name), ...fileKeys]) {
    const value = fromEnvironment(env, key);
    if (value === undefined) continue;
    // The same in a spelling of less rank is no setting of its own.
    for (const name of environmentNames(key)) used.add(name);
    found.set(key, { key, text: value.text, origin: { kind: 'environment', variable: value.variable } });
  }
  for (const [variable, text] of Object.entries(env)) {
    if (used.has(variable) || text === undefined || text === '') continue;
    const dotted = /^(debezium|quarkus|walberg)\./.test(variable) ? variable : OUR_VARIABLE.test(variable) && !SERVICE_LINK.test(variable) ? variable.toLowerCase().replaceAll('_', '.') : undefined;
    if (dotted !== undefined && !found.has(dotted)) found.set(dotted, { key: dotted, text, origin: { kind: 'environment', variable } });
  }
  return [...found.values()];
}
