/**
 * Runs the pipeline until the slot is confirmed up to a position. Arguments as JSON: properties by name, endLsn (absent: until the
 * tables are open). Prints seconds since the stream began, the peak memory and the CPU time of the process.
 */
import { loadConfig } from '../../src/config/load.js';
import { runPipeline } from '../../src/pipeline/conductor.js';
import { parseLsn } from '../../src/postgres/lsn.js';

const { properties, endLsn } = JSON.parse(process.argv[2]) as { properties: Record<string, string>; endLsn?: string };
const end = endLsn === undefined ? 0n : parseLsn(endLsn);
const { config, problems } = loadConfig({ overrides: properties });
if (config === undefined) throw new Error(problems.map((p) => p.message).join('\n'));
const stop = new AbortController();
let started = 0;
let commits = 0;
let seconds = 0;
await runPipeline({
  config,
  stop: stop.signal,
  listeners: [{
    sessionStarted: () => { started = performance.now(); if (endLsn === undefined) stop.abort(); },
    commitFinished: () => { commits++; },
    confirmed: (lsn) => {
      if (lsn < end || stop.signal.aborted) return;
      seconds = (performance.now() - started) / 1000;
      stop.abort();
    },
    sessionEnded: ({ error }) => { if (error !== undefined) process.stderr.write(`${error.stack}\n`); },
  }],
});
const usage = process.resourceUsage();
process.stdout.write(`${JSON.stringify({ seconds, commits, peakMib: usage.maxRSS / 1024, cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6 })}\n`, () => process.exit());
