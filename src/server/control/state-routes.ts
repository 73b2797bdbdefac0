import { systemClock } from '../../clock.ts';
import { singleFlight } from '../../flow/single-flight.ts';
import { metricsContentType, metricsPaths } from '../metrics/agent-metrics.ts';
import { bytesOfLongJSON, ControlRefusal, endWithin, sendBytes, sendJSON, unlessRefused } from './control-answer.ts';
import type { ControlCall, ControlContext, ControlRoutes } from './control-route.ts';

/** All clients together take a sixth of a core for snapshots, and more on a node with hundreds of pods. */
const snapshotPauses = { pausePerRun: 5, maxPauseMs: 200 };

/**
 * The state of the node.
 * - `GET /v1/snapshot`; with `settled`, once it includes what is on disk now.
 * - `GET /v1/history` of one pod.
 * - `GET /v1/stats`: the statistics, at most `maxAge` milliseconds old; with `cpuAndMemoryOnly`, these figures alone.
 * - `GET /v1/metrics`: for Prometheus, with `path` that of another page, such as `/metrics/resource`.
 */
export function stateRoutes(context: ControlContext): ControlRoutes {
  // On a node with many pods, each one takes megabytes and tens of milliseconds.
  const snapshot = singleFlight(async () => bytesOfLongJSON({ pid: process.pid, ...(await context.view).snapshot() }), {
    clock: systemClock,
    ...snapshotPauses,
  });
  return {
    'GET /v1/snapshot': async (call) => {
      const engine = await context.engineFor(call);
      const waits = call.query.has('wait');
      if (call.query.has('settled')) await unlessRefused(() => engine.settled({ waits }));
      sendBytes(call.response, await snapshot());
    },
    'GET /v1/history': async (call) => {
      const pod = { namespace: parameter(call, 'namespace'), name: parameter(call, 'name') };
      const engine = await context.engineFor(call);
      sendJSON(call.response, await engine.history(pod));
    },
    'GET /v1/stats': async (call) => {
      const engine = await context.engineFor(call);
      // A text that is not a number requests a new sample.
      const maxAgeMs = Number(call.query.get('maxAge')) || 0;
      const cpuAndMemoryOnly = call.query.has('cpuAndMemoryOnly');
      sendJSON(call.response, await engine.summary({ maxAgeMs, cpuAndMemoryOnly }));
    },
    'GET /v1/metrics': async (call) => {
      await context.engineFor(call);
      const path = metricsPaths.find((known) => known === (call.query.get('path') ?? '/metrics'));
      if (path === undefined) throw new ControlRefusal(404, 'not found');
      const page = await context.metrics.text(path);
      call.response.writeHead(200, { 'content-type': metricsContentType });
      endWithin(call.response, page);
    },
  };
}

/** Throws a `ControlRefusal` if the request lacks it. */
function parameter({ query }: ControlCall, name: string): string {
  const value = query.get(name);
  if (value) return value;
  throw new ControlRefusal(400, `the parameter ${name} is missing`);
}
