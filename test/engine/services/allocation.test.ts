import { describe, expect, test } from 'vitest';
import type { Service } from '../../../src/api/values/service.ts';
import { type Allocation, computeAllocations } from '../../../src/engine/services/allocation.ts';
import { headless, makePort, makeService } from '../../builders/services.ts';

const subnets = ['10.223.0.0/29', 'fd00::/112'];

function allocate(
  services: Service[],
  earlier: Record<string, Allocation> = {},
  from: readonly string[] = subnets,
): { allocations: Record<string, Allocation>; problems: string[] } {
  const { allocations, problems } = computeAllocations(services, {
    subnets: from,
    earlier: new Map(Object.entries(earlier)),
    keepsOthers: false,
  });
  return {
    allocations: Object.fromEntries(allocations),
    problems: problems.map(({ service, message }) => `${service.name} ${message}`),
  };
}

const ipOf = (clusterIP: string): Allocation => ({ clusterIPs: [clusterIP], nodePorts: {} });

describe('cluster addresses', () => {
  test('follow from the name, so that a lost record changes nothing', () => {
    const services = ['a', 'b', 'c'].map((name) => makeService(name));
    const { allocations, problems } = allocate(services);
    expect(problems).toEqual([]);
    expect(new Set(Object.values(allocations).flatMap(({ clusterIPs }) => clusterIPs)).size).toBe(3);
    expect(allocate(services.toReversed()).allocations).toEqual(allocations);
  });

  test.each<[string, Service[], Record<string, Allocation>, Record<string, Allocation>, string[]]>([
    [
      'stay while the Service is declared',
      [makeService('a')],
      { 'default/a': ipOf('10.223.0.6') },
      { 'default/a': ipOf('10.223.0.6') },
      [],
    ],
    [
      'stay if another Service asks for them, which then gets none',
      [makeService('a'), makeService('b', { clusterIPs: ['10.223.0.6'] })],
      { 'default/a': ipOf('10.223.0.6') },
      { 'default/a': ipOf('10.223.0.6') },
      ['b gets no address, because clusterIP 10.223.0.6 belongs to Service default/a'],
    ],
    [
      'stay if the Service asks for that of another one',
      [makeService('a'), makeService('b', { clusterIPs: ['10.223.0.6'] })],
      { 'default/a': ipOf('10.223.0.6'), 'default/b': ipOf('10.223.0.1') },
      { 'default/a': ipOf('10.223.0.6'), 'default/b': ipOf('10.223.0.1') },
      ['b keeps 10.223.0.1, because clusterIP 10.223.0.6 belongs to Service default/a'],
    ],
    [
      'go to another Service once their own one asks for another',
      [makeService('a', { clusterIPs: ['10.223.0.1'] }), makeService('b', { clusterIPs: ['10.223.0.6'] })],
      { 'default/a': ipOf('10.223.0.6') },
      { 'default/a': ipOf('10.223.0.1'), 'default/b': ipOf('10.223.0.6') },
      [],
    ],
    [
      'are chosen if a manifest asks for one outside the subnet',
      [makeService('a', { clusterIPs: ['10.96.0.10'] })],
      {},
      { 'default/a': ipOf(expect.stringMatching(/^10\.223\.0\.[1-6]$/) as string) },
      ['a gets another address, because clusterIP 10.96.0.10 is not in the subnet of Services, 10.223.0.0/29'],
    ],
    [
      'belong to the first of two Services that ask for one',
      [makeService('b', { clusterIPs: ['10.223.0.6'] }), makeService('a', { clusterIPs: ['10.223.0.6'] })],
      {},
      { 'default/a': ipOf('10.223.0.6') },
      ['b gets no address, because clusterIP 10.223.0.6 belongs to Service default/a'],
    ],
    [
      'of both families with PreferDualStack, in the order of ipFamilies',
      [makeService('a', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] })],
      {},
      {
        'default/a': {
          clusterIPs: [expect.stringMatching(/^fd00::[0-9a-f]+$/) as string, expect.stringMatching(/^10\./) as string],
          nodePorts: {},
        },
      },
      [],
    ],
    [
      'are not given to headless Services and those of other servers',
      [headless('a'), makeService('b', { type: 'ExternalName' })],
      {},
      {},
      [],
    ],
  ])('%s', (_, services, earlier, allocations, problems) => {
    expect(allocate(services, earlier)).toEqual({ allocations, problems });
  });

  test('are as many as the subnet has', () => {
    const services = Array.from({ length: 7 }, (_, index) => makeService(`s${index}`));
    const { allocations, problems } = allocate(services);
    const ips = Object.values(allocations).flatMap(({ clusterIPs }) => clusterIPs);
    expect(ips.toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((last) => `10.223.0.${last}`));
    expect(problems).toEqual([
      expect.stringMatching(/^s. gets no address, because the subnet of Services, 10.223.0.0\/29, has no free one$/),
    ]);
  });

  test('that nobody has go first to the Services that ask for them', () => {
    const [chosen = ''] = allocate([makeService('a')]).allocations['default/a']?.clusterIPs ?? [];
    const services = [makeService('a'), makeService('b', { clusterIPs: [chosen] })];
    expect(allocate(services)).toEqual({
      allocations: { 'default/a': ipOf(expect.not.stringContaining(chosen) as string), 'default/b': ipOf(chosen) },
      problems: [],
    });
  });

  const noIPv6 = 'a gets no address, because it needs IPv6, and Services have no IPv6 subnet';
  test.each<[string, Partial<Service>, string[]]>([
    ['IPv6 alone', { ipFamilies: ['IPv6'] }, [noIPv6]],
    ['an IPv6 address', { clusterIPs: ['fd00::1'] }, [noIPv6]],
    ['RequireDualStack', { ipFamilyPolicy: 'RequireDualStack' }, [noIPv6]],
    ['RequireDualStack with an address', { ipFamilyPolicy: 'RequireDualStack', clusterIPs: ['10.223.0.6'] }, [noIPv6]],
    ['PreferDualStack', { ipFamilyPolicy: 'PreferDualStack' }, []],
    ['PreferDualStack, IPv6 first', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] }, []],
  ])('on a node without IPv6 with %s', (_, more, problems) => {
    const found = allocate([makeService('a', more)], {}, ['10.223.0.0/29']);
    const one = ipOf(expect.stringMatching(/^10\./) as string);
    expect(found).toEqual({ allocations: problems.length === 0 ? { 'default/a': one } : {}, problems });
  });
});

describe('ports of the node', () => {
  const web = (nodePort: number, name = 'web'): Service =>
    makeService(name, { type: 'NodePort', ports: [makePort({ nodePort })] });
  const portsOf = (
    services: Service[],
    earlier: Record<string, Allocation> = {},
  ): { ports: Record<string, Allocation['nodePorts']>; problems: string[] } => {
    const { allocations, problems } = allocate(services, earlier);
    return {
      ports: Object.fromEntries(Object.entries(allocations).map(([key, { nodePorts }]) => [key, nodePorts])),
      problems,
    };
  };
  const had = { 'default/web': { clusterIPs: ['10.223.0.6'], nodePorts: { 'TCP/80': 31_234 } } };

  test.each<[string, Service[], Record<string, Allocation>, Record<string, Allocation['nodePorts']>, string[]]>([
    ['are those that manifests ask for', [web(30_080)], had, { 'default/web': { 'TCP/80': 30_080 } }, []],
    ['stay while the Service is declared', [web(0)], had, { 'default/web': { 'TCP/80': 31_234 } }, []],
    [
      'stay if another Service asks for them, which then has none',
      [web(0), web(31_234, 'b')],
      had,
      { 'default/b': {}, 'default/web': { 'TCP/80': 31_234 } },
      ['b opens no port of this node for its port 80, because nodePort TCP/31234 belongs to Service default/web'],
    ],
    [
      'belong to the first of two Services that ask for one',
      [web(31_234), web(31_234, 'b')],
      {},
      { 'default/b': { 'TCP/80': 31_234 }, 'default/web': {} },
      ['web opens no port of this node for its port 80, because nodePort TCP/31234 belongs to Service default/b'],
    ],
    [
      'are separate for each protocol',
      [
        makeService('dns', {
          type: 'LoadBalancer',
          ports: [
            makePort({ name: 'tcp', nodePort: 30_053 }),
            makePort({ name: 'udp', protocol: 'UDP', nodePort: 30_053 }),
          ],
        }),
      ],
      {},
      { 'default/dns': { 'TCP/80': 30_053, 'UDP/80': 30_053 } },
      [],
    ],
    [
      'are only those that manifests ask for, if the Service wants no others',
      [
        makeService('lb', {
          type: 'LoadBalancer',
          choosesNodePorts: false,
          ports: [makePort({ name: 'http' }), makePort({ name: 'dns', port: 53, nodePort: 30_053 })],
        }),
      ],
      {},
      { 'default/lb': { 'TCP/53': 30_053 } },
      [],
    ],
  ])('%s', (_, services, earlier, ports, problems) => {
    expect(portsOf(services, earlier)).toEqual({ ports, problems });
  });

  test('are chosen from the range of a cluster', () => {
    const { ports } = portsOf([web(0)]);
    expect(portsOf([web(0)]).ports).toEqual(ports);
    expect(ports['default/web']?.['TCP/80']).toSatisfy((port: number) => port >= 30_000 && port <= 32_767);
  });
});
