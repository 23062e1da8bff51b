#!/usr/bin/env node
/** The program: see cli.ts. */
import { runCli } from './cli.js';

const exitCode = await runCli(process.argv.slice(2));
// Everything is closed; nothing that is left (an idle keep-alive socket) may hold the process.
process.stdout.write('', () => process.exit(exitCode));
