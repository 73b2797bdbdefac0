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
