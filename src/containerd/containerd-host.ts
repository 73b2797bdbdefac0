import type { ContainerdEnd } from './containerd-exit.ts';
import type { ProcessIdentity } from '../process-identity.ts';

/** A containerd that we started. */
export interface LaunchedContainerd {
  readonly process: ProcessIdentity;
  /** Resolves when it ends. Never rejects. */
  readonly ended: Promise<ContainerdEnd>;
}

/** All that the supervisor of a containerd does to the machine, and hears of it. One for each configuration file. */
export interface ContainerdHost {
  /** The containerd that runs with our configuration file, whoever started it. */
  find(): Promise<ProcessIdentity | undefined>;
  /**
   * Starts one and resolves as soon as it is a process; undefined when there is one already. Of all programs that ask at
   * once only one starts one, and none after its signal is aborted.
   */
  launch(containerd: string, signal: AbortSignal): Promise<LaunchedContainerd | undefined>;
  isRunning(process: ProcessIdentity): Promise<boolean>;
  /** Signals this very process. When it is gone nothing happens, whoever has its number now. */
  signal(process: ProcessIdentity, name: NodeJS.Signals): Promise<void>;
  /** Resolves when the CRI answers on our socket. Rejects with the signal's reason, or after `timeoutMs`. */
  untilReady(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<void>;
  /** Writes down what to find first. */
  record(process: ProcessIdentity): Promise<void>;
  /** Calls back once when whoever answers on our socket ends the connection; returns how to let go without a call. */
  watchConnection(onLost: () => void): () => void;
  /** What it said last, since the newest `launch`. */
  lastLines(): Promise<readonly string[]>;
  /** Removes what a dead containerd leaves behind, unless one runs. */
  removeTraces(): Promise<void>;
}
