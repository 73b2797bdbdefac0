import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { EndpointPort, Service, ServiceAddresses } from '../../../src/api/values/service.ts';
import { serviceProblems } from '../../../src/engine/services/service-problems.ts';
import { problemSentence } from '../../../src/engine/view/service-problem.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { headless, makePort, makeService } from '../../builders/services.ts';

const addresses = (port: Partial<EndpointPort>, kind: ServiceAddresses['kind'] = 'Endpoints'): ServiceAddresses => ({
  kind,
  namespace: 'default',
  name: kind === 'Endpoints' ? 'db' : 'db-1',
  service: 'db',
  subsets: [{ ips: ['192.0.2.7'], ports: [{ name: '', protocol: 'TCP', port: 5432, ...port }] }],
});
const outside = (port: Parameters<typeof makePort>[0] = {}): Service =>
  makeService('db', { selector: {}, ports: [makePort(port)] });

const noProblems = {
  services: [],
  addresses: [],
  allocations: new Map(),
  pods: [],
  refusals: [],
  ofAll: undefined,
  ofRules: [],
};

test.each<[string, Service[], ServiceAddresses[], string[]]>([
  ['pods of a selector', [makeService('db')], [], []],
  ['addresses outside', [outside()], [addresses({})], []],
  ['addresses of several documents', [outside()], [addresses({ name: 'x' }), addresses({}, 'EndpointSlice')], []],
  ['another server', [makeService('db', { type: 'ExternalName', selector: {} })], [], []],
  [
    'nothing',
    [headless('db', { selector: {} })],
    [],
    ['Service default/db has no endpoints, because it has neither a selector nor Endpoints'],
  ],
  [
    'pods, in spite of addresses',
    [makeService('db')],
    [addresses({}, 'EndpointSlice')],
    ['Service default/db has a selector, so EndpointSlice db-1 has no effect'],
  ],
  [
    'a port of another name',
    [outside({ name: 'pg' })],
    [addresses({})],
    ['Service default/db has no endpoints for port 80, because Endpoints db has no TCP port named pg'],
  ],
  [
    'a port of another protocol',
    [outside({ protocol: 'UDP' })],
    [addresses({})],
    ['Service default/db has no endpoints for port 80, because Endpoints db has no UDP port without a name'],
  ],
  [
    'addresses without a Service',
    [makeService('db', { namespace: 'other' })],
    [addresses({})],
    ['Endpoints default/db has no effect, because its namespace has no Service db'],
  ],
])('a Service with %s', (_what, services, found, problems) => {
  expect(serviceProblems({ ...noProblems, services, addresses: found }).map(problemSentence)).toEqual(problems);
});

test('a port of the node that is also a hostPort is a problem', () => {
  const service = makeService('web', { type: 'NodePort' });
  const allocations = new Map([['default/web', { clusterIPs: ['10.223.0.5'], nodePorts: { 'TCP/80': 30_080 } }]]);
  const withPort = (name: string, protocol: string): Pod =>
    makeStaticPod(name, {
      spec: { containers: [{ name: 'main', ports: [{ containerPort: 80, hostPort: 30_080, protocol }] }] },
    });
  const pods = [withPort('tcp', 'TCP'), withPort('udp', 'UDP')];
  expect(serviceProblems({ ...noProblems, services: [service], allocations, pods }).map(problemSentence)).toEqual([
    'Service default/web shares TCP port 30080 of this node with pod default/tcp-edge1, and only one of them answers',
  ]);
});

test('a Service that is refused or not forwarded has a problem, and one without ports to forward has none', () => {
  const because = { message: 'is not forwarded', hint: 'Load it.' };
  const service = makeService('web');
  const refusal = { service, message: 'gets no address', hint: 'Write another.' };
  const about = { kind: 'Service', namespace: 'default', name: 'web' };
  const state = { ...noProblems, services: [service, headless('db')], refusals: [refusal], ofAll: because };
  expect(serviceProblems({ ...state, ofRules: [{ service, ...because }] })).toEqual([
    { ...about, stage: 'address', message: 'gets no address', hint: 'Write another.' },
    { ...about, stage: 'rules', ...because },
    { ...about, stage: 'rules', ...because },
  ]);
});
