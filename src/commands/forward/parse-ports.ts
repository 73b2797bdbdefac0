import { UserError } from '../../errors.ts';
import type { Pod } from '../../api/types.ts';
import { checkDNS1123Label } from '../../api/values/names.ts';
import type { Service } from '../../api/values/service.ts';

export interface ForwardedPort {
  /** Port of this machine; 0 for any free one. Undefined for the number of the named remote one. */
  local: number | undefined;
  /** Port of the pod, or the name of a port of its containers. */
  remote: number | string;
}

const hint = 'Write ports as REMOTE, LOCAL:REMOTE or :REMOTE for any free local port, such as 8080:80.';

/** Parses `80`, `8080:80`, `:80` and the same with the name of a port. kubectl: portforward.go parsePorts */
export function parsePorts(texts: readonly string[]): ForwardedPort[] {
  return texts.map((text) => {
    const parts = text.split(':');
    const [first = '', second] = parts;
    if (parts.length > 2) throw new UserError(`"${text}" is not a pair of ports`, { hint });
    const remote = remotePort(second ?? first, text);
    if (second === undefined) return { local: typeof remote === 'string' ? undefined : remote, remote };
    return { local: first === '' ? 0 : portNumber(first, text), remote };
  });
}

function remotePort(text: string, whole: string): number | string {
  // A Service may give a port any DNS label as its name.
  if (/[a-z]/.test(text) && checkDNS1123Label(text) === undefined) return text;
  const port = portNumber(text, whole);
  if (port === 0) throw new UserError(`"${whole}": the port of the pod must not be 0`, { hint });
  return port;
}

function portNumber(text: string, whole: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535) {
    const place = whole === text ? '' : `"${whole}": `;
    throw new UserError(`${place}"${text}" is not a port from 1 to 65535`, { hint });
  }
  return Number(text);
}

/**
 * The port of the pods that a port of a Service leads to, by its number or name. Throws a `UserError` if the Service
 * has no such port. kubectl: portforward.go translateServicePortToTargetPort
 */
export function portOfPods(
  { name: service, ports, clusterIPs }: Service,
  { local, remote }: ForwardedPort,
): ForwardedPort {
  const own = ports.filter(({ protocol }) => protocol === 'TCP');
  const found = own.find(({ name, port }) => (typeof remote === 'number' ? port === remote : name === remote));
  if (found === undefined) {
    const titles = own.map(({ name, port }) => (name === '' ? `${port}` : `${port} (${name})`));
    throw new UserError(`Service ${service} has no TCP port ${remote}`, {
      hint: `${own.length === 0 ? 'It has no TCP ports.' : `Its TCP ports are: ${titles.join(', ')}.`} For another port, name a pod.`,
    });
  }
  // The name of a headless Service leads to the pods themselves.
  return { local: local ?? found.port, remote: clusterIPs[0] === 'None' ? found.port : found.targetPort };
}

/**
 * Replaces the name of a port by its number. `pod` is the declared pod with the port names. Throws a `UserError` if no
 * port has this name.
 */
export function numbersIn(pod: Pod | undefined, { local, remote }: ForwardedPort): { local: number; remote: number } {
  const number = portNumberIn(pod, remote);
  return { local: local ?? number, remote: number };
}

function portNumberIn(pod: Pod | undefined, remote: number | string): number {
  if (typeof remote === 'number') return remote;
  if (pod === undefined) {
    throw new UserError(`no agent answers, so the port named "${remote}" is unknown`, { hint: 'Give its number.' });
  }
  const ports = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap(({ ports: own = [] }) =>
    own.filter(({ protocol = 'TCP' }) => protocol === 'TCP'),
  );
  const found = ports.find(({ name }) => name === remote);
  if (found !== undefined) return found.containerPort;
  const names = ports.flatMap(({ name }) => name ?? []);
  throw new UserError(`the pod has no TCP port named "${remote}"`, {
    hint: names.length === 0 ? 'Its TCP ports have no names.' : `Its TCP ports are: ${names.join(', ')}.`,
  });
}
