import type { ContainerdEnd } from './containerd-exit.ts';
import type { ProcessIdentity } from '../process/process-identity.ts';

/** A containerd that we started. */
export interface LaunchedContainerd {
  readonly process: ProcessIdentity;
  /** Resolves when it has exited. Never rejects. */
  readonly ended: Promise<ContainerdEnd>;
}

/** The supervisor's access to the machine, with one object per configuration file. */
export interface ContainerdHost {
  /** Finds the containerd that runs with our configuration file, even if another process started it. */
  find(): Promise<ProcessIdentity | undefined>;
  /**
   * Starts a containerd. Resolves as soon as its process exists, or to undefined if a containerd is already running. If
   * several programs call this at once, only one of them starts a containerd. Starts none after the signal is aborted.
   */
  launch(containerd: string, signal: AbortSignal): Promise<LaunchedContainerd | undefined>;
  isRunning(process: ProcessIdentity): Promise<boolean>;
  /** Signals this process. Does nothing if it has exited, even if another process has its PID now. */
  signal(process: ProcessIdentity, name: NodeJS.Signals): Promise<void>;
  /** Resolves when the CRI answers on our socket. Rejects with the signal's reason, or after `timeoutMs`. */
  untilReady(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<void>;
  /** Records the process that `find` checks first. */
  record(process: ProcessIdentity): Promise<void>;
  /** Calls back once when the server on our socket closes the connection. Returns a function that cancels the watch. */
  watchConnection(onLost: () => void): () => void;
  /** Returns the last lines of its log since the most recent `launch`, by default five. */
  lastLines(count?: number): Promise<readonly string[]>;
  /** Runs `work` unless a containerd is running. None is started meanwhile, by any process. Returns whether it ran. */
  whileNoneRuns(work: () => Promise<void>): Promise<boolean>;
  /** Removes what a dead containerd left behind. Does nothing if one is running. */
  removeTraces(): Promise<void>;
}
