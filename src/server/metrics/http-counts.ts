import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Family } from './family.ts';
import { Distribution, Tally, usualBuckets } from './tally.ts';

/** Of every server. kubelet: server/server.go InstallDefaultHandlers */
const defaultPaths = ['healthz', 'pods', 'stats', 'metrics', 'metrics/cadvisor', 'metrics/probes', 'metrics/resource'];
const streamPaths = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'logs'];

/** A server as its requests are counted. */
export interface CountedServer {
  type: 'readonly' | 'readwrite';
  /** First segments of the paths that have their own label. */
  paths: ReadonlySet<string>;
}

/**
 * First parts of the paths that a server with these mounts counts. Without debug handlers, it refuses their paths.
 * kubelet: server/server.go getMetricBucket, InstallDebuggingHandlers, InstallDebuggingDisabledHandlers
 */
export function countedPaths(mounts: readonly { readonly path: string }[]): ReadonlySet<string> {
  const served = new Set(mounts.map(({ path }) => path));
  const ofDebug = served.has('/configz') ? ['configz', 'debug'] : ['pprof'];
  return new Set([...defaultPaths, ...streamPaths, ...ofDebug, ...(served.has('/checkpoint/') ? ['checkpoint'] : [])]);
}

/** kubelet: server/server.go NewServer */
const knownMethods: ReadonlySet<string> = new Set([
  ...['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT'],
]);
/**
 * The kubelet lacks portForward, because it has the name in lower case. kubelet: server/server.go isLongRunningRequest
 */
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

/** Requests to the HTTPS API and the read-only port. kubelet: server/metrics/metrics.go */
export class HTTPCounts {
  private readonly requests = new Tally();
  private readonly inflight = new Tally();
  private readonly webSockets = new Tally();
  private readonly durations = new Distribution(usualBuckets);

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** Counts a request that starts. Call the returned function once, when its answer is finished. */
  began(
    { method = '', url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
    { type, paths }: CountedServer,
  ): () => void {
    const path = pathLabel(url, paths);
    const labels = {
      method: knownMethods.has(method) ? method : 'other',
      path,
      server_type: type,
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

  /** Counts a WebSocket that the agent answers itself: of `exec`, `attach` or `portforward`. */
  acceptedWebSocket(subresource: string): void {
    this.webSockets.add({ subresource });
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
      {
        name: 'kubelet_websocket_streaming_requests_total',
        type: 'counter',
        help: '[ALPHA] Total number of WebSocket streaming requests handled by the kubelet, by subresource',
        samples: this.webSockets.samples(),
      },
    ];
  }
}

/** The first segment of a served path, such as `exec`, or `other`, so that clients cannot create new series. */
function pathLabel(url: string, paths: ReadonlySet<string>): string {
  const [first = '', second] = decodedPath(url).replace(/^\//, '').split('/', 2);
  const path = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  return paths.has(path) ? path : 'other';
}

function decodedPath(url: string): string {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ''));
  } catch {
    // None of our paths has such an escape.
    return '';
  }
}
