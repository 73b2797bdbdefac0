import { createHash } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import {
  hasClusterIP,
  hasNodePorts,
  type IPFamily,
  nodePortRange,
  type Service,
  type ServicePort,
} from '../../api/values/service.ts';
import { byName, familyOf } from './service-pod.ts';

/** The addresses and ports of one Service. */
export interface Allocation {
  /** Primary first. */
  clusterIPs: readonly string[];
  /** Ports of the node, by `portKey`. */
  nodePorts: Readonly<Record<string, number>>;
}

/** Why a Service does not get what it asks for, and what to do. */
export interface AllocationProblem {
  service: Service;
  /** Follows the name of the Service in a sentence, such as `gets no address, because …`. */
  message: string;
  hint: string;
}

interface State {
  /** The subnets of cluster addresses, at most one of each family. */
  subnets: readonly string[];
  /** What Services have now, by `serviceKey`. */
  earlier: ReadonlyMap<string, Allocation>;
  /** True if Services that `services` lacks may still be declared, so that they keep what they have. */
  keepsOthers: boolean;
}

interface Outcome {
  /** By `serviceKey`, with those that are kept. A Service that is refused has none. */
  allocations: Map<string, Allocation>;
  problems: AllocationProblem[];
}

export const serviceKey = ({ namespace, name }: Pick<Service, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** Such as `TCP/80`. */
export const portKey = ({ protocol, port }: Pick<ServicePort, 'protocol' | 'port'>): string => `${protocol}/${port}`;

/**
 * Allocates addresses of `subnets` and ports of the node. As with an API server, a Service keeps what it has until its
 * manifest asks for something else, and another Service that asks for it is refused. What nobody has goes first to
 * those that ask for it: without a record, as on a new node, a chosen value never blocks them. A chosen value follows
 * from the name, so that a lost record changes little.
 */
export function computeAllocations(services: readonly Service[], state: State): Outcome {
  const wanting = services.filter(hasClusterIP).toSorted(byName);
  const problems: AllocationProblem[] = [];
  const keys = new Set(wanting.map(serviceKey));
  const kept = state.keepsOthers ? [...state.earlier].filter(([key]) => !keys.has(key)) : [];
  const ips = assign(
    wanting.flatMap((service) => wantedIPs(service, state, problems)),
    heldBy(kept, ({ clusterIPs }) => clusterIPs),
  );
  const accepted = wanting.filter((service) => {
    const own = ips.filter(({ want }) => want.service === service);
    return own.length > 0 && own.every(({ value }) => value !== undefined);
  });
  const ports = assign(
    accepted.filter(hasNodePorts).flatMap((service) => wantedPorts(service, state)),
    heldBy(kept, ({ nodePorts }) => Object.entries(nodePorts).map(([key, port]) => `${key.split('/')[0]}/${port}`)),
  );
  problems.push(...[...ips, ...ports].flatMap((assigned) => problemOf(assigned) ?? []));
  const valuesOf = (all: readonly Assigned[], service: Service): [key: string, value: string][] =>
    all.flatMap(({ want, value }) => (want.service === service && value !== undefined ? [[want.key, value]] : []));
  const allocations = accepted.map((service): [string, Allocation] => {
    const clusterIPs = valuesOf(ips, service).map(([, ip]) => ip);
    const nodePorts = valuesOf(ports, service).map(([key, port]) => [key, Number(port.split('/')[1])]);
    return [serviceKey(service), { clusterIPs, nodePorts: Object.fromEntries(nodePorts) as Allocation['nodePorts'] }];
  });
  return { allocations: new Map([...allocations, ...kept]), problems };
}

/** Returns the values that allocations have, with the keys of their Services. */
const heldBy = (
  allocations: readonly [string, Allocation][],
  valuesOf: (allocation: Allocation) => readonly string[],
): Map<string, string> =>
  new Map(allocations.flatMap(([key, allocation]) => valuesOf(allocation).map((value) => [value, key])));

/** An address or a port of the node that a Service wants. A port is a value such as `TCP/30080`. */
interface Want {
  service: Service;
  /** Unique in its Service. */
  key: string;
  field: 'clusterIP' | 'nodePort';
  /** What its manifest asks for. Undefined to choose one. */
  asked: string | undefined;
  /** What it has now. */
  had: string | undefined;
  /** Returns a free value. Returns undefined if all are taken. */
  choose: (isTaken: (value: string) => boolean) => string | undefined;
  /** Values are chosen from these. */
  range: string;
  /** What it means to get none. */
  consequence: string;
}

interface Assigned {
  want: Want;
  /** Undefined if it gets none. */
  value: string | undefined;
  /** The key of the Service that has what it asks for. */
  holder: string | undefined;
}

/** Gives no value to two Services. `held` are the keys of Services that keep a value. */
function assign(wants: readonly Want[], held: ReadonlyMap<string, string>): Assigned[] {
  const holders = new Map(held);
  const values = new Map<Want, string>();
  const give = (want: Want, value: string | undefined): void => {
    if (value === undefined || holders.has(value) || values.has(want)) return;
    holders.set(value, serviceKey(want.service));
    values.set(want, value);
  };
  for (const want of wants) if (want.asked === undefined || want.asked === want.had) give(want, want.had);
  for (const want of wants) give(want, want.asked);
  // A Service that is refused keeps what it had.
  for (const want of wants) give(want, want.had);
  for (const want of wants) {
    if (want.asked === undefined && !values.has(want))
      give(
        want,
        want.choose((value) => holders.has(value)),
      );
  }
  return wants.map((want) => {
    const value = values.get(want);
    const isLost = want.asked !== undefined && want.asked !== value;
    return { want, value, holder: isLost ? holders.get(want.asked ?? '') : undefined };
  });
}

function problemOf({ want, value, holder }: Assigned): AllocationProblem | undefined {
  const { service, field, asked = '', range, consequence } = want;
  if (holder !== undefined) {
    const outcome = value === undefined ? consequence : `keeps ${value}`;
    const message = `${outcome}, because ${field} ${asked} belongs to Service ${holder}`;
    return { service, message, hint: `Write another ${field}, or leave it out to have one chosen.` };
  }
  if (value !== undefined) return undefined;
  return { service, message: `${consequence}, because ${range} has no free one`, hint: 'Remove a Service.' };
}

/** Empty if the Service needs a family that this node does not have. */
function wantedIPs(service: Service, { subnets, earlier }: State, problems: AllocationProblem[]): Want[] {
  const available = subnets.map(familyOf);
  const families = familiesOf(service, available);
  const missing = families.find((family) => !available.includes(family));
  if (missing !== undefined) {
    const message = `gets no address, because it needs ${missing}, and Services have no ${missing} subnet`;
    problems.push({ service, message, hint: familyHint });
    return [];
  }
  return families.map((family) => {
    const subnet = subnets.find((one) => familyOf(one) === family) ?? '';
    const ofFamily = (ips: readonly string[] = []): string | undefined => ips.find((ip) => familyOf(ip) === family);
    const asked = ofFamily(service.clusterIPs);
    const isOutside = asked !== undefined && !isIn(subnet, asked);
    if (isOutside) {
      const message = `gets another address, because clusterIP ${asked} is not in the subnet of Services, ${subnet}`;
      problems.push({ service, message, hint: 'Leave clusterIP out, or choose the subnet with --service-cidr.' });
    }
    const had = ofFamily(earlier.get(serviceKey(service))?.clusterIPs);
    return {
      service,
      key: family,
      field: 'clusterIP',
      asked: isOutside ? undefined : asked,
      had: had !== undefined && isIn(subnet, had) ? had : undefined,
      choose: (isTaken) => freeIP(subnet, serviceKey(service), isTaken),
      range: `the subnet of Services, ${subnet},`,
      consequence: 'gets no address',
    };
  });
}

const familyHint = 'Add a subnet of this family to --service-cidr, or remove ipFamilies and ipFamilyPolicy.';

/** The families of the addresses that a Service needs, primary first. */
function familiesOf({ clusterIPs, ipFamilies, ipFamilyPolicy }: Service, available: readonly IPFamily[]): IPFamily[] {
  const asked = new Set([...ipFamilies, ...clusterIPs.map(familyOf), ...available]);
  switch (ipFamilyPolicy) {
    case 'SingleStack':
      return [...asked].slice(0, 1);
    case 'PreferDualStack':
      return [...asked].filter((family) => available.includes(family));
    case 'RequireDualStack':
      return [...asked.add('IPv4').add('IPv6')];
  }
}

function wantedPorts(service: Service, { earlier }: State): Want[] {
  const { first, last } = nodePortRange;
  return service.ports.flatMap((port) => {
    if (port.nodePort === 0 && !service.choosesNodePorts) return [];
    const key = portKey(port);
    const had = earlier.get(serviceKey(service))?.nodePorts[key];
    const valueOf = (nodePort: number): string => `${port.protocol}/${nodePort}`;
    return {
      service,
      key,
      field: 'nodePort',
      asked: port.nodePort === 0 ? undefined : valueOf(port.nodePort),
      had: had === undefined ? undefined : valueOf(had),
      choose: (isTaken) => {
        const start = hashOf(`${serviceKey(service)} ${key}`);
        const free = probe(last - first + 1, start, (offset) => !isTaken(valueOf(first + offset)));
        return free === undefined ? undefined : valueOf(first + free);
      },
      range: `the range from ${first} to ${last}`,
      consequence: `opens no port of this node for its port ${port.port}`,
    };
  });
}

/** Offsets from the address of a subnet, without that address and the last one. Enough for all manifests of a node. */
const maxHosts = 65_534;

function freeIP(subnet: string, name: string, isTaken: (ip: string) => boolean): string | undefined {
  const [base = '', length = '0'] = subnet.split('/');
  const hostBits = (isIPv6(base) ? 128 : 32) - Number(length);
  const hosts = Math.min(hostBits >= 16 ? maxHosts : 2 ** hostBits - 2, maxHosts);
  const offset = probe(hosts, hashOf(name), (one) => !isTaken(nthIP(base, one + 1)));
  return offset === undefined ? undefined : nthIP(base, offset + 1);
}

/** The address at an offset of at most 16 bits. `base` ends with as many zero bits as the subnet has for hosts. */
function nthIP(base: string, offset: number): string {
  if (isIPv6(base)) return `${base}${offset.toString(16)}`;
  const number = base.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0) + offset;
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
}

/** Returns the first free offset below `count`, beginning at `start`. */
function probe(count: number, start: number, isFree: (offset: number) => boolean): number | undefined {
  for (let step = 0; step < count; step++) {
    const offset = (start + step) % count;
    if (isFree(offset)) return offset;
  }
  return undefined;
}

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();

function isIn(subnet: string, ip: string): boolean {
  const [base = '', length = '0'] = subnet.split('/');
  if (isIPv6(base) !== isIPv6(ip)) return false;
  const type = isIPv6(base) ? 'ipv6' : 'ipv4';
  const block = new BlockList();
  block.addSubnet(base, Number(length), type);
  return block.check(ip, type);
}
