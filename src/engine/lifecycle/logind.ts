/** Holds up a shutdown of the machine, up to the longest time that logind waits for anyone. */
export interface InhibitorLock {
  /** Resolves when it is held no more, whoever let go of it. */
  readonly released: Promise<void>;
  release(): void;
}

/** logind on one connection to the system bus. Calls reject with the error of the bus. */
export interface LogindConnection {
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
  /** The longest that logind waits for locks. */
  inhibitDelaySeconds(): Promise<number>;
  /** Has logind read its configuration anew; what it says afterwards may be of before for a moment. */
  reload(): Promise<void>;
  isPreparingForShutdown(): Promise<boolean>;
}

/** What shuts the machine down. logind(8), org.freedesktop.login1(5) */
export interface Logind {
  /**
   * `onPrepareForShutdown` is called when a shutdown begins or is called off, and maybe for nothing: every user of the machine
   * can send us such a signal. What is so has to be asked. The connection lasts until the signal is aborted.
   */
  connect(onPrepareForShutdown: () => void, signal: AbortSignal): Promise<LogindConnection>;
  /** The lock is held until the signal is aborted, if not let go before. */
  inhibit(signal: AbortSignal): Promise<InhibitorLock>;
  /** Writes into its configuration how long it waits for locks; resolves to the file. */
  configureInhibitDelay(seconds: number): Promise<string>;
}
