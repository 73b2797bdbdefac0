import type { Container } from '../../api/types.ts';

/** A probe in one line, as kubectl writes it; empty when there is none. kubectl: pkg/describe DescribeProbe */
export function probeText(probe: Container['livenessProbe']): string {
  if (probe === undefined) return '';
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10, successThreshold = 1 } = probe;
  const times = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s`;
  return `${actionText(probe)} ${times} #success=${successThreshold} #failure=${probe.failureThreshold ?? 3}`;
}

function actionText({ exec, httpGet, tcpSocket, grpc }: NonNullable<Container['livenessProbe']>): string {
  if (exec) return `exec [${(exec.command ?? []).join(' ')}]`;
  if (httpGet) {
    const { scheme = 'HTTP', host = '', port, path = '/' } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${String(port)}${path}`;
  }
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ''}:${String(tcpSocket.port)}`;
  if (grpc) return `grpc :${grpc.port} ${grpc.service ?? ''}`.trimEnd();
  return 'unknown';
}
