/**
 * What the catalog does at one commit:
 *  - kill-before: the process dies when everything is written and the catalog is not yet asked
 *  - kill-after: the process dies when the catalog has committed and nobody knows
 *  - refuse: a temporary error, definitely not applied
 *  - lose: the outcome is unknown, and nothing was applied
 *  - apply: the outcome is unknown, and it was applied
 *  - slow: five seconds pass before the catalog is asked
 */
export type CommitFault = 'kill-before' | 'kill-after' | 'refuse' | 'lose' | 'apply' | 'slow';

/** What happens at which commit of the process, counted from 1; `*` is every other one. */
export type CommitFaults = Readonly<Record<string, CommitFault>>;

/** Environment variable with CommitFaults as JSON, read by faulty-main.ts. */
export const FAULTS_VARIABLE = 'TEST_COMMIT_FAULTS';
