import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { loadConfig, type LoadResult } from './config/load.js';
import { describeConfiguration, describeNote, describeProblems } from './config/report.js';
import { asWalbergError, WalbergError } from './errors/error.js';
import { describeError } from './observe/logging.js';
import { createObservers } from './observe/observers.js';
import { type PipelineOptions, runPipeline } from './pipeline/conductor.js';
import { runPreflight } from './preflight/preflight.js';
import { describePreflight, hasProblems } from './preflight/report.js';

/** Exit codes of every command. */
const EXIT_FAILURE = 1;
const EXIT_CONFIGURATION = 2;

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

/** What a caller may put between Walberg and the outside. */
export type PipelineHooks = Pick<PipelineOptions, 'wrapCatalog' | 'wrapStorage'>;

const CONFIG_FLAG = '-c, --config <file>';
const CONFIG_HELP = 'application.properties; the environment alone when absent';

/** Runs the command line and returns the exit code: 0 done or stopped cleanly, 1 failure, 2 bad configuration or arguments. */
export async function runCli(argv: readonly string[], hooks: PipelineHooks = {}): Promise<number> {
  let exitCode = 0;
  try {
    await commands(hooks, (code) => { exitCode = code; }).parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CONFIGURATION;
    process.stderr.write(`${asWalbergError(error).message}\n`);
    return EXIT_FAILURE;
  }
}

function commands(hooks: PipelineHooks, done: (exitCode: number) => void): Command {
  const program = new Command('walberg')
    .description('Reads a Postgres write-ahead log and keeps Apache Iceberg v2 tables equal to the source, exactly once.')
    .version(version)
    .showHelpAfterError()
    .exitOverride();

  program.command('run', { isDefault: true })
    .description('stream changes into tables until stopped (default)')
    .option(CONFIG_FLAG, CONFIG_HELP)
    .action(async ({ config }: { config?: string }) => { done(await run(config, hooks)); });

  program.command('check')
    .description('print what a configuration means, and every problem in it')
    .option(CONFIG_FLAG, CONFIG_HELP)
    .option('--connect', 'also look at source, catalog and storage; changes nothing')
    .action(async ({ config, connect }: { config?: string; connect?: boolean }) => { done(await check(config, connect === true, hooks)); });

  program.command('demo')
    .description('start a Postgres, fill a shop, stream it into local tables and compare')
    .option('-d, --directory <path>', 'where the tables go; a new temporary folder when absent')
    .option('--orders <count>', 'orders to load', '100000')
    .option('--seconds <count>', 'seconds of live changes', '15')
    .action(async (options: { directory?: string; orders: string; seconds: string }) => {
      const { runDemo } = await import('./demo/demo.js');
      done(await runDemo({ directory: options.directory, orders: Number(options.orders), seconds: Number(options.seconds) }));
    });
  return program;
}

async function check(file: string | undefined, connect: boolean, hooks: PipelineHooks): Promise<number> {
  const result = loadConfig({ file, env: process.env });
  process.stdout.write(describeConfiguration(result, file));
  if (result.config === undefined) return EXIT_CONFIGURATION;
  if (!connect) return 0;
  const groups = await runPreflight({ config: result.config, ...hooks });
  process.stdout.write(`\n${describePreflight(groups)}`);
  return hasProblems(groups) ? EXIT_FAILURE : 0;
}

async function run(file: string | undefined, hooks: PipelineHooks): Promise<number> {
  const result = loadConfig({ file, env: process.env });
  if (result.config === undefined) return refuse(result);
  const { config } = result;
  const observers = createObservers(config.observe, { version });
  const { logger } = observers;
  const stop = stopSignal(config.pipeline.shutdownTimeoutMs, (signal) => {
    logger.info({ signal }, 'stopping: committing what is whole');
    observers.stopping();
  });
  try {
    await observers.start();
    // Defaults that differ from Debezium's are for `check`, not for every start.
    for (const note of result.notes) logger[note.kind === 'default' ? 'debug' : 'info'](describeNote(note));
    await runPipeline({ config, listeners: observers.listeners, stop, ...hooks });
    logger.info('stopped');
    return 0;
  } catch (thrown) {
    const error = asWalbergError(thrown);
    logger.fatal(describeError(error), error.message);
    return error.policy === 'config' ? EXIT_CONFIGURATION : EXIT_FAILURE;
  } finally {
    await observers.stop();
  }
}

function refuse(result: LoadResult): number {
  process.stderr.write(`${describeProblems(result.problems)}\n`);
  return EXIT_CONFIGURATION;
}

/** Aborted by the first SIGTERM or SIGINT. When the clean stop takes too long, or at a second signal, the process ends at once. */
function stopSignal(deadlineMs: number, onSignal: (signal: string) => void): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(EXIT_FAILURE);
      onSignal(signal);
      setTimeout(() => {
        const late = new WalbergError('SHUTDOWN_DEADLINE', `The clean stop took longer than ${deadlineMs} ms`);
        process.stderr.write(`${late.message} ${late.hint}\n`);
        process.exit(EXIT_FAILURE);
      }, deadlineMs).unref();
      controller.abort();
    });
  }
  return controller.signal;
}
