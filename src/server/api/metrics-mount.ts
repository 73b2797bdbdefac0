import type { Clock } from '../../clock.ts';
import {
  type AgentMetrics,
  binaryContentType,
  metricsContentType,
  type MetricsPath,
} from '../metrics/agent-metrics.ts';
import { acceptedTypes } from './accepted-types.ts';
import { sendPlain } from './answers.ts';
import type { Mount } from './route-table.ts';
import { sendParts } from './send-parts.ts';

interface Deps {
  metrics: Pick<AgentMetrics, 'parts' | 'binaryParts' | 'health'>;
  clock: Pick<Clock, 'after'>;
}

/** kubelet: server/server.go InstallDefaultHandlers; its header is that of component-base/metrics/http.go */
export const metricsMount = (path: MetricsPath, { metrics, clock }: Deps): Mount => ({
  path,
  subresources: ['metrics'],
  handle: async ({ request, response }) => {
    // kubelet: component-base/metrics/http.go HandlerWithReset
    if (path === '/metrics/slis' && request.method === 'DELETE') {
      metrics.health.reset();
      sendPlain(response, 200, 'metrics reset\n');
      return;
    }
    const { isBinary, escaping } = chosenFormat(request.headers.accept);
    const headers = {
      'content-type': `${isBinary ? binaryContentType : metricsContentType}; escaping=${escaping}`,
      'process-start-time-unix': String(Math.floor(performance.timeOrigin / 1000)),
    };
    const isZipped = acceptsGzip(request.headers['accept-encoding']);
    const parts = await (isBinary ? metrics.binaryParts(path) : metrics.parts(path));
    await sendParts(response, { headers, parts, isZipped, clock });
  },
});

interface Format {
  isBinary: boolean;
  /** How names with unusual characters would be written. All names here are usual. */
  escaping: string;
}

const escapings = new Set(['allow-utf-8', 'underscores', 'dots', 'values']);

/**
 * The format that a client prefers: the first one in the order of its weights that is served. The binary format written
 * as text is not. client_golang: expfmt/encode.go Negotiate
 */
export function chosenFormat(accept = ''): Format {
  let escaping = 'underscores';
  for (const { type, parameters } of acceptedTypes(accept)) {
    const asked = parameters.get('escaping') ?? '';
    if (escapings.has(asked)) escaping = asked;
    const isBinary =
      type === 'application/vnd.google.protobuf' &&
      parameters.get('proto') === 'io.prometheus.client.MetricFamily' &&
      parameters.get('encoding') === 'delimited';
    const isText = type === 'text/plain' && ['', '0.0.4'].includes(parameters.get('version') ?? '');
    if (isBinary || isText) return { isBinary, escaping };
  }
  return { isBinary: false, escaping };
}

/** kubelet: client_golang promhttp negotiateEncodingWriter */
const acceptsGzip = (header: string | string[] = ''): boolean =>
  header
    .toString()
    .split(',')
    .some((word) => /^gzip(;\s*q=(?!0(\.0*)?$).*)?$/.test(word.trim()));
