/** What is known about a stream when the question is asked. Times in milliseconds of one monotonic clock. */
export interface LivenessState {
  readonly now: number;
  /** When bytes last arrived, or reading was resumed, or the stream began: the latest of them. */
  readonly heardAt: number;
  /** When the last reply was asked for; undefined when none is outstanding. */
  readonly askedAt: number | undefined;
  /** We stopped reading ourselves, so silence says nothing. */
  readonly paused: boolean;
  /** The server's wal_sender_timeout; 0 = the operator wants no timeouts. */
  readonly walSenderTimeoutMs: number;
}

/** `ask`: send a status that requests a reply. `dead`: the peer is gone although the socket looks open. */
export type Liveness = 'alive' | 'ask' | 'dead';

/**
 * Decides whether silence means a half-open connection. An idle server sends nothing to a client that reports in time, so
 * silence alone proves nothing: a reply is asked for first, and only its absence counts. The limit is twice the server's
 * own timeout, with a third of it left for the reply.
 */
export function liveness(state: LivenessState): Liveness {
  if (state.walSenderTimeoutMs <= 0 || state.paused) return 'alive';
  const silence = state.now - state.heardAt;
  if (silence < state.walSenderTimeoutMs / 2) return 'alive';
  if (state.askedAt === undefined) return 'ask';
  const waited = state.now - state.askedAt;
  return silence >= 2 * state.walSenderTimeoutMs && waited >= state.walSenderTimeoutMs / 3 ? 'dead' : 'alive';
}
