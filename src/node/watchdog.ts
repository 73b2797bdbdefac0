import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { ServiceManager } from './service-manager.ts';

interface Deps {
  service: Pick<ServiceManager, 'watchdogMs' | 'alive'>;
  /** Undefined while the agent is healthy. */
  stuckBecause: () => string | undefined;
  clock: Clock;
  logger: Logger;
}

/** Milliseconds between extensions of the time for the start, and how long each lasts. */
const extensionPeriodMs = 60_000;
const extensionMs = 300_000;

/**
 * Lets systemd wait for the start as long as the agent lives: TimeoutStartSec of its unit is for one that hangs.
 * Returns when the unit has started. Rejects with the signal's reason if it is aborted first.
 */
export async function extendStart(
  service: Pick<ServiceManager, 'isStarting' | 'extendStart'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (service.isStarting) {
    await clock.sleep(extensionPeriodMs, { signal });
    await service.extendStart(extensionMs);
  }
}

/** kubelet: watchdog_linux.go retryBackoff */
const retryMs = 1000;

/**
 * Notifies the watchdog of systemd, twice per period, as long as the sync loop makes progress. Stops when the signal is
 * aborted. kubelet: pkg/kubelet/watchdog/watchdog_linux.go Start
 */
export async function notifyWatchdog(
  { service, stuckBecause, clock, logger }: Deps,
  signal: AbortSignal,
): Promise<void> {
  const { watchdogMs } = service;
  if (watchdogMs === undefined) return;
  logger.info({ seconds: watchdogMs / 1000 }, 'Notifying the watchdog of systemd');
  while (!signal.aborted) {
    const because = stuckBecause();
    if (because === undefined) {
      if (!(await service.alive())) {
        await clock.sleep(retryMs, { signal });
        await service.alive();
      }
    } else logger.error({ because }, 'Not notifying the watchdog of systemd');
    await clock.sleep(watchdogMs / 2, { signal });
  }
}
