import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { detectNodeIPs, type HostNetwork, loopback } from './detect-node-ips.ts';

/** Milliseconds. The first pods come before the program that reports changes. */
const firstAfterMs = 5000;
/** Milliseconds. One change of an interface is reported in several parts. */
const settleMs = 500;
/** Milliseconds between checks of a machine that cannot report changes. */
const periodMs = 60_000;

interface Deps {
  /** The addresses of `--node-ip`. Empty if the address is detected. */
  given: readonly string[];
  readNetwork: () => HostNetwork;
  /** Calls back for each change. Resolves when the signal is aborted or if the machine cannot report changes. */
  monitor: (onChange: () => void, signal: AbortSignal) => Promise<void>;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
}

/** The addresses of the node, which follow its interfaces and routes unless `--node-ip` names them. */
export class NodeAddresses {
  private ips: readonly string[] = [];
  private absent: readonly string[] = [];

  /** Reads the addresses for the first time. */
  constructor(private readonly deps: Deps) {
    this.read();
  }

  /** Returns the current addresses, primary first. Never empty. */
  readonly current = (): readonly string[] => this.ips;

  /** Calls back with the earlier addresses after each change, until the signal is aborted. */
  async follow(onChange: (before: readonly string[]) => void, signal: AbortSignal): Promise<void> {
    const { clock, monitor } = this.deps;
    let cancel: (() => void) | undefined;
    const check = (): void => {
      cancel = undefined;
      const before = this.ips;
      this.read();
      if (before.join() !== this.ips.join()) onChange(before);
    };
    const checkSoon = (): void => {
      cancel ??= clock.after(settleMs, check);
    };
    try {
      for (let waitMs = firstAfterMs; ; waitMs = periodMs) {
        await clock.sleep(waitMs, { signal });
        // It may have changed before the monitor runs.
        checkSoon();
        await monitor(checkSoon, signal);
      }
    } finally {
      cancel?.();
    }
  }

  private read(): void {
    const { given, readNetwork, logger } = this.deps;
    const { ips, absent } = computeNodeIPs(given, readNetwork(), this.ips);
    if (absent.length > 0 && absent.join() !== this.absent.join()) {
      const hint = 'Correct --node-ip, or give the address to an interface: ip address';
      logger.warn({ nodeIP: absent, hint }, 'No interface of this machine has the address of --node-ip');
    }
    if (absent.length === 0 && this.absent.length > 0) {
      logger.info({ nodeIP: this.absent }, 'An interface of this machine has the address of --node-ip again');
    }
    this.ips = ips;
    this.absent = absent;
  }
}

/**
 * Returns the addresses of a node, and those given by `--node-ip` that no interface has. A node that has lost its
 * network keeps the addresses from `before`: with 127.0.0.1, names of pods on the host network would lead each pod to
 * itself.
 */
export function computeNodeIPs(
  given: readonly string[],
  network: HostNetwork,
  before: readonly string[],
): { ips: readonly string[]; absent: readonly string[] } {
  if (given.length > 0) {
    const own = Object.values(network.interfaces).flatMap((addresses = []) => addresses.map(({ address }) => address));
    return { ips: given, absent: given.filter((ip) => !own.includes(ip)) };
  }
  const detected = detectNodeIPs(network);
  const isLost = detected[0] === loopback && before.length > 0;
  return { ips: isLost ? before : detected, absent: [] };
}
