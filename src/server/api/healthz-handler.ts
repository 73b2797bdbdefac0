import type { RequestListener } from 'node:http';
import type { Faults } from '../../flow/faults.ts';
import { apiHandler } from './api-handler.ts';
import { healthzMounts } from './healthz-checks.ts';

/** Milliseconds for a client to read its answer. */
export const maxSilenceMs = 5000;

/** Answers `/healthz` and `/healthz/ping`. `unhealthyBecause` returns undefined while healthy. */
export function healthzHandler(
  unhealthyBecause: () => string | undefined,
  faults: Pick<Faults, 'note'>,
): RequestListener {
  const checks = [
    { name: 'ping', unhealthyBecause: () => undefined },
    { name: 'syncloop', unhealthyBecause, isShownOnlyFailing: true },
  ];
  return apiHandler({ mounts: healthzMounts(checks), faults });
}
