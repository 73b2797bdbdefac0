import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Family } from './family.ts';
import { Distribution, Tally, usualBuckets } from './tally.ts';

/** First parts of the paths that the kubelet serves. kubelet: server/server.go getMetricBuckets */
const knownPaths: ReadonlySet<string> = new Set([
  ...['attach', 'checkpoint', 'configz', 'containerLogs', 'debug', 'exec', 'healthz', 'logs', 'metrics', 'pods'],
  ...['metrics/cadvisor', 'metrics/probes', 'metrics/resource', 'metrics/slis'],
  ...['portForward', 'run', 'runningpods', 'stats'],
]);
const knownMethods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
/** kubelet: server/server.go isLongRunningRequest */
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'portForward', 'debug']);

/** Requests to the HTTPS API and the read-only port. kubelet: server/metrics/metrics.go */
export class HTTPCounts {
  private readonly requests = new Tally();
  private readonly inflight = new Tally();
  private readonly durations = new Distribution(usualBuckets);

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** Counts a request that begins. The returned function is called once when its answer has ended. */
  began(
    { method = '', url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
    serverType: 'readonly' | 'readwrite',
  ): () => void {
    const path = pathLabel(url);
    const labels = {
      method: knownMethods.has(method) ? method : 'other',
      path,
      server_type: serverType,
      long_running: String(longRunning.has(path)),
    };
    const startedAtMonotonic = this.clock.monotonic();
    this.requests.add(labels);
    this.inflight.add(labels);
    return () => {
      this.inflight.add(labels, -1);
      this.durations.observe((this.clock.monotonic() - startedAtMonotonic) / 1000, labels);
    };
  }

  families(): Family[] {
    const family = (name: string, type: Family['type'], help: string, samples: Family['samples']): Family => ({
      name: `kubelet_http_${name}`,
      type,
      help: `[ALPHA] ${help}`,
      samples,
    });
    const durations = 'requests_duration_seconds';
    return [
      family('inflight_requests', 'gauge', 'Number of the inflight http requests', this.inflight.samples()),
      family(
        durations,
        'histogram',
        'Duration in seconds to serve http requests',
        this.durations.samples(`kubelet_http_${durations}`),
      ),
      family(
        'requests_total',
        'counter',
        'Number of the http requests received since the server started',
        this.requests.samples(),
      ),
    ];
  }
}

/** The first part of a path that is served, such as `exec`, or `other`, so that clients make no new series. */
function pathLabel(url: string): string {
  const [first = '', second = ''] = url
    .replace(/[?#].*$/s, '')
    .split('/')
    .slice(1, 3);
  const path = first === 'metrics' && second !== '' ? `${first}/${second}` : first;
  return knownPaths.has(path) ? path : 'other';
}
