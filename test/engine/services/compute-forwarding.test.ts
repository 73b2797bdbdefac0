import { expect, test } from 'vitest';
import type { Service, ServiceAddresses } from '../../../src/api/values/service.ts';
import { computeForwarding } from '../../../src/engine/services/compute-forwarding.ts';
import type { ServicePod } from '../../../src/engine/services/service-pod.ts';
import { makeServicePod } from '../../builders/service-pod.ts';
import { headless, makePort, makeService } from '../../builders/services.ts';

const pod = (name: string, ip: string, more: Partial<ServicePod> = {}): ServicePod =>
  makeServicePod(name, { labels: { app: 'web' }, ips: [ip], ...more });

const outside: ServiceAddresses = {
  kind: 'Endpoints',
  namespace: 'default',
  name: 'web',
  service: 'web',
  subsets: [
    {
      ips: ['192.0.2.8', '192.0.2.7', '2001:db8::7'],
      ports: [
        { name: '', protocol: 'TCP', port: 8080 },
        { name: 'other', protocol: 'TCP', port: 1 },
      ],
    },
  ],
};

/** Each port as `where -> endpoints`. */
function forwarded(
  service: Service,
  pods: readonly ServicePod[],
  more: Partial<Parameters<typeof computeForwarding>[2]> = {},
): string[] {
  const clusterIPs = service.ipFamilyPolicy === 'SingleStack' ? ['10.223.0.5'] : ['10.223.0.5', 'fd00::5'];
  const nodePorts = service.type === 'NodePort' ? { 'TCP/80': 30_080 } : {};
  const allocations = new Map([['default/web', { clusterIPs, nodePorts }]]);
  return computeForwarding([service], allocations, { pods, addresses: [], ...more }).map(
    ({ name, at, protocol, port, endpoints, keepsSource }) =>
      `${name} ${protocol} ${'node' in at ? `node ${at.node}` : at.clusterIP} ${port} -> ${endpoints.map((one) => `${one.ip} ${one.port}`).join(', ')}${keepsSource ? ' (source kept)' : ''}`,
  );
}

test.each<[string, Service, ServicePod[], string[]]>([
  [
    'its Ready pods in the order of their names',
    makeService('web'),
    [pod('web-1', '10.222.0.6'), pod('web-0', '10.222.0.5'), pod('web-2', '10.222.0.7', { isReady: false })],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.5 80, 10.222.0.6 80'],
  ],
  [
    'a named port of each pod that has it with its protocol',
    makeService('web', { ports: [makePort({ name: 'http', targetPort: 'web' })] }),
    [
      pod('web-0', '10.222.0.5', { namedPorts: [{ name: 'web', protocol: 'TCP', port: 8080 }] }),
      pod('web-1', '10.222.0.6', { namedPorts: [{ name: 'web', protocol: 'TCP', port: 9090 }] }),
      pod('web-2', '10.222.0.7', { namedPorts: [{ name: 'web', protocol: 'UDP', port: 9090 }] }),
      pod('web-3', '10.222.0.8'),
    ],
    ['default/web:http TCP 10.223.0.5 80 -> 10.222.0.5 8080, 10.222.0.6 9090'],
  ],
  [
    'no pod that stops while others do not',
    makeService('web'),
    [pod('web-0', '10.222.0.5', { isTerminating: true }), pod('web-1', '10.222.0.6')],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.6 80'],
  ],
  [
    'pods that stop while they are Ready and there are no others',
    makeService('web'),
    [pod('web-0', '10.222.0.5', { isTerminating: true }), pod('web-1', '10.222.0.6', { isReady: false })],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.5 80'],
  ],
  [
    'pods that stop if no other has a port of this name',
    makeService('web', { ports: [makePort({ targetPort: 'web' })] }),
    [
      pod('web-0', '10.222.0.5', { isTerminating: true, namedPorts: [{ name: 'web', protocol: 'TCP', port: 8080 }] }),
      pod('web-1', '10.222.0.6'),
    ],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.5 8080'],
  ],
  [
    'pods that are not Ready with publishNotReadyAddresses',
    makeService('web', { publishNotReadyAddresses: true }),
    [pod('web-0', '10.222.0.5', { isReady: false })],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.5 80'],
  ],
  [
    'pods that stop next to others with publishNotReadyAddresses',
    makeService('web', { publishNotReadyAddresses: true }),
    [pod('web-0', '10.222.0.5', { isTerminating: true }), pod('web-1', '10.222.0.6')],
    ['default/web TCP 10.223.0.5 80 -> 10.222.0.5 80, 10.222.0.6 80'],
  ],
  ['nothing without a pod', makeService('web'), [], ['default/web TCP 10.223.0.5 80 -> ']],
  [
    'a port of the node, in both families',
    makeService('web', { type: 'NodePort', ipFamilyPolicy: 'RequireDualStack', externalTrafficPolicy: 'Local' }),
    [pod('web-0', '10.222.0.5', { ips: ['10.222.0.5', 'fd11::5'] })],
    [
      'default/web TCP 10.223.0.5 80 -> 10.222.0.5 80',
      'default/web TCP node IPv4 30080 -> 10.222.0.5 80 (source kept)',
      'default/web TCP fd00::5 80 -> fd11::5 80',
      'default/web TCP node IPv6 30080 -> fd11::5 80 (source kept)',
    ],
  ],
])('leads to %s', (_, service, pods, lines) => {
  expect(forwarded(service, pods)).toEqual(lines);
});

test('leads to the declared addresses without a selector, unless the policy is Local', () => {
  const service = makeService('web', { selector: {}, ipFamilyPolicy: 'RequireDualStack' });
  const pods = [pod('web-0', '10.222.0.5')];
  expect(forwarded(service, pods, { addresses: [outside, { ...outside, kind: 'EndpointSlice' }] })).toEqual([
    'default/web TCP 10.223.0.5 80 -> 192.0.2.7 8080, 192.0.2.8 8080',
    'default/web TCP fd00::5 80 -> 2001:db8::7 8080',
  ]);
  const local = makeService('web', { selector: {}, internalTrafficPolicy: 'Local' });
  expect(forwarded(local, pods, { addresses: [outside] })).toEqual(['default/web TCP 10.223.0.5 80 ->  (source kept)']);
  expect(forwarded(makeService('web'), pods, { addresses: [outside] })).toEqual([
    'default/web TCP 10.223.0.5 80 -> 10.222.0.5 80',
  ]);
});

test('forwards nothing for a headless Service', () => {
  expect(forwarded(headless('web', { ports: [makePort({})] }), [pod('web-0', '10.222.0.5')])).toEqual([]);
});
