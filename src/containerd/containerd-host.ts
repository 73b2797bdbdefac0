import type { ContainerdEnd } from './containerd-exit.ts';
import type { ProcessIdentity } from '../process/process-identity.ts';

/** A containerd that we started. */
export interface LaunchedContainerd {
  readonly process: ProcessIdentity;
  /** Resolves when it ends. Never rejects. */
  readonly ended: Promise<ContainerdEnd>;
}

/** The supervisor's access to the machine. One for each configuration file. */
export interface ContainerdHost {
  /** The containerd that runs with our configuration file, even if another process started it. */
  find(): Promise<ProcessIdentity | undefined>;
  /**
   * Starts a containerd and resolves as soon as it is a process, or to undefined if one runs already. Of several
   * programs that call this at once, only one starts a containerd. Starts none after its signal is aborted.
   */
  launch(containerd: string, signal: AbortSignal): Promise<LaunchedContainerd | undefined>;
  isRunning(process: ProcessIdentity): Promise<boolean>;
  /** Signals this process. Does nothing if it has ended, even if another process has its PID. */
  signal(process: ProcessIdentity, name: NodeJS.Signals): Promise<void>;
  /** Resolves when the CRI answers on our socket. Rejects with the signal's reason, or after `timeoutMs`. */
  untilReady(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<void>;
  /** Records the process that `find` checks first. */
  record(process: ProcessIdentity): Promise<void>;
  /** Calls back once when the server on our socket ends the connection. Returns a function that cancels the watch. */
  watchConnection(onLost: () => void): () => void;
  /** The last lines of its log since the newest `launch`. */
  lastLines(): Promise<readonly string[]>;
  /** Removes the remains of a dead containerd, unless one runs. */
  removeTraces(): Promise<void>;
}
