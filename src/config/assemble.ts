import { checkChain } from './chain.js';
import { Checks } from './checks.js';
import type { WalbergConfig } from './config.js';
import { assembleObserve } from './assemble-observe.js';
import { assemblePipeline } from './assemble-pipeline.js';
import { assembleSink } from './assemble-sink.js';
import { assembleSource } from './assemble-source.js';
import type { Note, Problem } from './problem.js';
import type { Settings } from './settings.js';

/**
 * Builds the configuration and checks what single properties cannot tell: what is missing and what contradicts. It runs with
 * defaults in place of bad values, so that one start shows all problems; then its result is not used.
 * `reported` are names whose value was found bad already.
 */
export function assemble(settings: Settings, passedThrough: Readonly<Record<string, string>>, reported: ReadonlySet<string>): { config: WalbergConfig; problems: Problem[]; notes: Note[] } {
  const checks = new Checks(settings, reported);
  checks.problems.push(...checkChain(settings, reported));
  const source = assembleSource(settings, checks);
  const sink = assembleSink(settings, checks, passedThrough);
  const config: WalbergConfig = {
    source,
    sink,
    pipeline: assemblePipeline(settings, checks, sink.tableProperties),
    observe: assembleObserve(settings, checks),
  };
  return { config, problems: checks.problems, notes: checks.notes };
}
