import { boundedText } from '../text/bounded-text.ts';
import type { Clock } from '../clock.ts';
import { Redactor } from '../engine/redaction/redactor.ts';
import { SecretValues } from '../engine/redaction/secret-values.ts';
import { errorMessage, UserError } from '../errors.ts';
import { SerialQueue } from '../flow/serial-queue.ts';
import type { Logger } from '../logger.ts';
import { visible } from '../text/visible-text.ts';

interface Deps {
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
  pid: number;
  /** Values that no text may contain. */
  secrets?: SecretValues;
}

/** Limit on one notification, in milliseconds. systemd-notify itself waits up to 5 s for an answer. */
const notifyLimitMs = 10_000;
/** Limit on the text of STATUS in bytes, as the reason may come from a runtime. */
const maxStatusBytes = 300;
/** kubelet: watchdog_linux.go minimalNotifyInterval */
const minWatchdogMs = 1000;

/**
 * Notifies systemd of the agent's state, with sd_notify(3). Does nothing without systemd. systemd's own program sends
 * the datagrams, because Node has no sockets of that kind.
 */
export class ServiceManager {
  /** Milliseconds without a notification after which systemd kills the agent. Undefined without a watchdog. */
  readonly watchdogMs: number | undefined;
  private readonly socket: string | undefined;
  private readonly redactor: Redactor;
  private readonly queue = new SerialQueue();
  private isReady = false;
  private hasBeenReady = false;

  /**
   * Removes the variables of systemd from the environment, so that no child of the agent sends notifications in its
   * place. Throws a `UserError` for a watchdog that is too fast, as the kubelet does.
   */
  constructor(
    env: NodeJS.ProcessEnv,
    private readonly deps: Deps,
  ) {
    const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = env;
    delete env['NOTIFY_SOCKET'];
    delete env['WATCHDOG_USEC'];
    delete env['WATCHDOG_PID'];
    this.redactor = new Redactor({ secrets: deps.secrets ?? new SecretValues() });
    this.socket = NOTIFY_SOCKET === '' ? undefined : NOTIFY_SOCKET;
    const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(deps.pid);
    this.watchdogMs = this.socket !== undefined && isOurs ? watchdogMs(WATCHDOG_USEC) : undefined;
  }

  /** True if systemd started the agent as a service. */
  get isThere(): boolean {
    return this.socket !== undefined;
  }

  /** True until the first `ready`, if systemd waits for it. */
  get isStarting(): boolean {
    return this.isThere && !this.hasBeenReady;
  }

  /** Gives a start that is in progress this much more time. */
  async extendStart(ms: number): Promise<void> {
    if (this.isStarting) await this.send([`EXTEND_TIMEOUT_USEC=${ms * 1000}`]);
  }

  /** Sends the text that `systemctl status` shows. */
  async status(text: string): Promise<void> {
    await this.send([this.statusOf(text)]);
  }

  /** Reports that the unit has started, and its main PID, because a shell may have started it. */
  async ready(text: string): Promise<void> {
    this.isReady = true;
    this.hasBeenReady = true;
    await this.send(['READY=1', `MAINPID=${this.deps.pid}`, this.statusOf(text)]);
  }

  /** Reports a reload, which the next `ready` completes. Does nothing before the first `ready`. */
  async reloading(): Promise<void> {
    if (!this.isReady) return;
    const monotonicUsec = Math.floor(this.deps.clock.monotonic() * 1000);
    await this.send(['RELOADING=1', `MONOTONIC_USEC=${monotonicUsec}`, this.statusOf('Reloading the configuration')]);
  }

  /** Reports that a reload finished. Does nothing before the first `ready`. */
  async reloaded(text: string): Promise<void> {
    if (this.isReady) await this.ready(text);
  }

  /** Reports a stop that may take `limitMs`. */
  async stopping(text: string, limitMs = 0): Promise<void> {
    this.isReady = false;
    const extended = limitMs > 0 ? [`EXTEND_TIMEOUT_USEC=${Math.ceil(limitMs * 1000)}`] : [];
    await this.send(['STOPPING=1', this.statusOf(text), ...extended]);
  }

  /** Resets the watchdog. Resolves with false if the notification failed. */
  async alive(): Promise<boolean> {
    return this.send(['WATCHDOG=1']);
  }

  private statusOf(text: string): string {
    // Cuts last, because an escape is longer than its character.
    return `STATUS=${boundedText(visible(this.redactor.text(text).replaceAll(/\s+/g, ' ')), maxStatusBytes)}`;
  }

  private async send(assignments: readonly string[]): Promise<boolean> {
    const { socket } = this;
    if (socket === undefined) return true;
    return this.queue.run(() => this.notify(socket, assignments));
  }

  /** Sends as the agent itself, so that the unit needs only NotifyAccess=main. */
  private async notify(socket: string, assignments: readonly string[]): Promise<boolean> {
    const { logger } = this.deps;
    try {
      const { execa } = await import('execa');
      // Without cleanup, because its signal handler would stop the agent on SIGTERM.
      const limits = { timeout: notifyLimitMs, killSignal: 'SIGKILL', cleanup: false } as const;
      const options = { env: { NOTIFY_SOCKET: socket }, stdin: 'ignore', ...limits } as const;
      await execa('systemd-notify', assignments, options);
      return true;
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'Notifying systemd failed');
      return false;
    }
  }
}

/** Milliseconds of WATCHDOG_USEC. kubelet: watchdog_linux.go NewHealthChecker, go-systemd SdWatchdogEnabled */
function watchdogMs(usec: string | undefined): number | undefined {
  if (usec === undefined) return undefined;
  const ms = /^\d+$/.test(usec) ? Number(usec) / 1000 : NaN;
  if (ms > minWatchdogMs) return ms;
  throw new UserError(`the watchdog of systemd is too fast: WATCHDOG_USEC=${usec}`, {
    hint: 'Set WatchdogSec of the unit to more than 1 s, or leave it out.',
  });
}
