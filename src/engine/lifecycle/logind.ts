/** Delays a shutdown of the machine, up to logind's maximum. */
export interface InhibitorLock {
  /** Resolves when the lock is released by any party. */
  readonly released: Promise<void>;
  release(): void;
}

/** logind on one connection to the system bus. Calls reject with the error of the bus. */
export interface LogindConnection {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  /** Maximum time that logind waits for locks. */
  inhibitDelaySeconds(): Promise<number>;
  /** Makes logind reload its configuration. Its answers may be outdated for a moment. */
  reload(): Promise<void>;
  isPreparingForShutdown(): Promise<boolean>;
}

/** The login manager, which announces shutdowns of the machine. logind(8), org.freedesktop.login1(5) */
export interface Logind {
  /**
   * Calls `onPrepareForShutdown` when a shutdown begins or is cancelled. Every user can send this signal, so the caller
   * must check the state. The connection lasts until the signal is aborted.
   */
  connect(onPrepareForShutdown: () => void, signal: AbortSignal): Promise<LogindConnection>;
  /** Holds the lock until it is released or the signal is aborted. */
  inhibit(signal: AbortSignal): Promise<InhibitorLock>;
  /** Writes the maximum wait for locks to logind's configuration. Resolves with the file's path. */
  configureInhibitDelay(seconds: number): Promise<string>;
}
