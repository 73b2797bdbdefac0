import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import type { Service } from '../../../src/api/values/service.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';
import { makePort, makeService } from '../../builders/services.ts';

const service = (spec: string): string => `apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec:\n${spec}`;

const makeDB = (more: Partial<Service>): Service =>
  makeService('db', { ports: [makePort({ port: 5432, targetPort: 5432 })], ...more });

test('a Service has the defaults of the API server', () => {
  const text = service('  selector: {app: db}\n  ports: [{port: 5432}]\n');
  expect(loadManifests(text, loadOptions)).toEqual({ pods: [], problems: [], configObjects: [makeDB({})] });
});

test.each<[string, string, Partial<Service>]>([
  [
    'headless',
    '  clusterIP: None\n  publishNotReadyAddresses: true\n',
    { clusterIPs: ['None'], publishNotReadyAddresses: true, ports: [] },
  ],
  [
    'of ports',
    '  type: NodePort\n  ports: [{name: pg, port: 80, targetPort: pg, nodePort: 30080}, {name: x, port: 53, protocol: UDP}]\n',
    {
      type: 'NodePort',
      ports: [
        makePort({ name: 'pg', port: 80, targetPort: 'pg', nodePort: 30_080 }),
        makePort({ name: 'x', port: 53, targetPort: 53, protocol: 'UDP' }),
      ],
    },
  ],
  [
    'with affinity and policies',
    '  type: NodePort\n  ports: [{port: 5432}]\n  sessionAffinity: ClientIP\n  internalTrafficPolicy: Local\n  externalTrafficPolicy: Local\n',
    { type: 'NodePort', affinitySeconds: 10_800, internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' },
  ],
  [
    'with a time of affinity',
    '  ports: [{port: 5432}]\n  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}\n',
    { affinitySeconds: 60 },
  ],
  [
    'with addresses of both families',
    '  ports: [{port: 5432}]\n  clusterIP: 10.96.0.7\n  clusterIPs: [10.96.0.7, "fd00::7"]\n  ipFamilies: [IPv4, IPv6]\n',
    { clusterIPs: ['10.96.0.7', 'fd00::7'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
  ],
  [
    'for another Service',
    '  type: ExternalName\n  externalName: db.shared.svc.cluster.local\n',
    { type: 'ExternalName', externalName: 'db.shared.svc.cluster.local', selector: {}, ports: [] },
  ],
])('a Service %s', (_what, spec, expected) => {
  const { configObjects, problems } = loadManifests(service(`  selector: {app: db}\n${spec}`), loadOptions);
  expect({ configObjects, problems }).toEqual({ configObjects: [makeDB(expected)], problems: [] });
});

test.each([
  ['', true],
  ['  allocateLoadBalancerNodePorts: false\n', false],
])('a Service for a load balancer may leave out ports of the node: %#', (spec, choosesNodePorts) => {
  const text = service(`  type: LoadBalancer\n  selector: {app: db}\n  ports: [{port: 5432}]\n${spec}`);
  expect(loadManifests(text, loadOptions).configObjects).toEqual([makeDB({ type: 'LoadBalancer', choosesNodePorts })]);
});

test.each(['0', '""', 'null'])('targetPort: %s is the port of the Service, as the API server defaults it', (zero) => {
  const text = service(`  selector: {app: db}\n  ports: [{port: 5432, targetPort: ${zero}}]\n`);
  expect(loadManifests(text, loadOptions).configObjects).toEqual([makeDB({})]);
});

test('Endpoints and EndpointSlices list addresses outside the node', () => {
  const endpoints = `apiVersion: v1
kind: Endpoints
metadata: {name: db}
subsets:
- addresses: [{ip: 192.0.2.7}, {ip: 192.0.2.8}]
  notReadyAddresses: [{ip: 192.0.2.9}]
  ports: [{name: pg, port: 5432}]
`;
  const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: IPv6
endpoints: [{addresses: ["2001:db8::7"]}, {addresses: ["2001:db8::8"], conditions: {ready: false}}]
ports: [{port: 5432, protocol: UDP}]
`;
  const { configObjects, problems } = loadManifests(`${endpoints}---\n${slice}`, loadOptions);
  expect({ configObjects, problems }).toEqual({
    problems: [],
    configObjects: [
      {
        kind: 'Endpoints',
        namespace: 'default',
        name: 'db',
        service: 'db',
        subsets: [{ ips: ['192.0.2.7', '192.0.2.8'], ports: [{ name: 'pg', protocol: 'TCP', port: 5432 }] }],
      },
      {
        kind: 'EndpointSlice',
        namespace: 'default',
        name: 'db-1',
        service: 'db',
        subsets: [{ ips: ['2001:db8::7'], ports: [{ name: '', protocol: 'UDP', port: 5432 }] }],
      },
    ],
  });
});

test('a name may begin with a digit', () => {
  const text = service('  ports: [{port: 80}]\n').replace('name: db', 'name: 1-db');
  expect(loadedManifests(text)).toEqual({ pods: [], configObjects: ['Service default/1-db'], problems: [] });
});

test('a wrong name is one problem', () => {
  const text = `${service('  ports: [{port: 80}]\n').replace('name: db', 'name: DB')}---
apiVersion: v1
kind: Endpoints
metadata: {name: DB}
`;
  expect(loadedManifests(text).problems).toEqual([
    expect.stringContaining('3:18 error metadata.name Invalid value: "DB"'),
    expect.stringContaining('error metadata.name Invalid value: "DB"'),
  ]);
});

test.each([
  ['IPv4', '2001:db8::7'],
  ['IPv6', '192.0.2.7'],
])('an EndpointSlice of %s refuses %s', (type, ip) => {
  const text = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: ${type}
endpoints: [{addresses: ["${ip}"]}]
`;
  expect(loadedManifests(text).problems).toEqual([
    `5:26 error endpoints[0].addresses[0] Invalid value: "${ip}": must be an ${type} address, as addressType says`,
  ]);
});

test.each([
  ['127.0.0.1', 'may not be a loopback or link-local address'],
  ['"::1"', 'may not be a loopback or link-local address'],
  ['"fe80::1"', 'may not be a loopback or link-local address'],
  ['169.254.169.254', 'may not be a loopback or link-local address'],
  ['db.example', 'must be a valid IP address, such as 10.9.8.7 or 2001:db8::ffff'],
])('no Service leads to %s', (ip, message) => {
  const text = `apiVersion: v1\nkind: Endpoints\nmetadata: {name: db}\nsubsets: [{addresses: [{ip: ${ip}}]}]\n`;
  expect(loadedManifests(text).problems).toEqual([
    `4:29 error subsets[0].addresses[0].ip Invalid value: "${ip.replaceAll('"', '')}": ${message}`,
  ]);
});

test.each([
  [
    'of another server',
    '  type: ExternalName\n  externalName: db.example\n',
    [
      '6:17 warning spec.externalName A hosts file cannot contain an alias of another server, so db.example has no effect',
    ],
  ],
  [
    'without ports',
    '  selector: {app: db}\n',
    ['4:1 warning spec A Service without ports forwards nothing: its name resolves to the addresses of its pods'],
  ],
  [
    'for a load balancer',
    '  type: LoadBalancer\n  ports: [{port: 80}]\n  loadBalancerIP: 192.0.2.1\n  loadBalancerClass: x\n',
    [
      '5:9 warning spec.type There is no load balancer here: clients outside use the port of the node, as with type: NodePort',
      '4:1 warning spec No effect without a load balancer: loadBalancerIP, loadBalancerClass',
    ],
  ],
  [
    'with a time of affinity but without affinity',
    '  ports: [{port: 80}]\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}\n',
    ['6:3 warning spec.sessionAffinityConfig No effect without affinity'],
  ],
  [
    'with externalIPs',
    '  ports: [{port: 80}]\n  externalIPs: [192.0.2.1]\n',
    ['6:3 warning spec.externalIPs externalIPs are not supported'],
  ],
])('a Service %s is used, with a warning', (_what, spec, problems) => {
  expect(loadedManifests(service(spec))).toEqual({ pods: [], configObjects: ['Service default/db'], problems });
});

test('two Services of a file cannot have the same port of the node', () => {
  const one = (name: string): string =>
    service('  type: NodePort\n  ports: [{port: 80, nodePort: 30080}]\n').replace('name: db', `name: ${name}`);
  expect(loadedManifests(`${one('a')}---\n${one('b')}`)).toEqual({
    pods: [],
    configObjects: ['Service default/a'],
    problems: ['13:32 error spec.ports[0].nodePort NodePort TCP/30080 is declared on line 6 already'],
  });
});

test('two Services of a file cannot have the same cluster address', () => {
  const one = (name: string): string =>
    service('  clusterIP: 10.96.0.10\n  ports: [{port: 80}]\n').replace('name: db', `name: ${name}`);
  expect(loadedManifests(`${one('a')}---\n${one('b')}`)).toEqual({
    pods: [],
    configObjects: ['Service default/a'],
    problems: ['12:14 error spec.clusterIP ClusterIP 10.96.0.10 is declared on line 5 already'],
  });
});

test.each([
  [
    'a name with a dot',
    service('  selector: {app: db}\n').replace('name: db', 'name: d.b'),
    '3:18 error metadata.name Invalid value: "d.b"',
  ],
  [
    'no name',
    'apiVersion: v1\nkind: Service\nspec: {selector: {app: db}}\n',
    'error metadata.name Required value: a name is needed',
  ],
  ['an unknown type', service('  type: Cluster\n'), 'error spec.type Unsupported value: "Cluster"'],
  [
    'a port out of range',
    service('  selector: {app: db}\n  ports: [{port: 70000}]\n'),
    '6:18 error spec.ports[0].port Invalid value: 70000: must be between 1 and 65535',
  ],
  [
    'an unknown protocol',
    service('  selector: {app: db}\n  ports: [{port: 1, protocol: tcp}]\n'),
    'error spec.ports[0].protocol Unsupported value: "tcp"',
  ],
  [
    'a target of no name',
    service('  ports: [{port: 1, targetPort: Web}]\n'),
    'error spec.ports[0].targetPort Invalid value: "Web"',
  ],
  [
    'two ports without names',
    service('  ports: [{port: 1}, {port: 2}]\n'),
    '5:22 error spec.ports[1].name Required value: each of several ports needs a name',
  ],
  [
    'a port twice',
    service('  ports: [{name: a, port: 1}, {name: b, port: 1}]\n'),
    '5:31 error spec.ports[1] Duplicate value: "1/TCP"',
  ],
  [
    'a port of the node for the cluster only',
    service('  ports: [{port: 1, nodePort: 30001}]\n'),
    'error spec.ports[0].nodePort Forbidden: may not be used when type is ClusterIP',
  ],
  [
    'a port of the node out of range',
    service('  type: NodePort\n  ports: [{port: 1, nodePort: 80}]\n'),
    'error spec.ports[0].nodePort Invalid value: 80: must be between 30000 and 32767',
  ],
  [
    'an address that is none',
    service('  clusterIP: db\n  ports: [{port: 1}]\n'),
    'error spec.clusterIP Invalid value: "db": must be a valid IP address',
  ],
  [
    'no address but a port of the node',
    service('  type: NodePort\n  clusterIP: None\n  ports: [{port: 1}]\n'),
    'error spec.clusterIP Invalid value: "None": may not be None for a NodePort Service',
  ],
  ['no other server', service('  type: ExternalName\n'), 'error spec.externalName Required value: must be set'],
  [
    'an affinity of a week',
    service(
      '  ports: [{port: 1}]\n  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 604800}}\n',
    ),
    'error spec.sessionAffinityConfig.clientIP.timeoutSeconds Invalid value: 604800: must be between 1 and 86400',
  ],
  [
    'an affinity of no time',
    service(
      '  ports: [{port: 1}]\n  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}\n',
    ),
    '7:54 error spec.sessionAffinityConfig.clientIP.timeoutSeconds Invalid value: 0: must be between 1 and 86400',
  ],
  [
    'an unknown affinity',
    service('  ports: [{port: 1}]\n  sessionAffinity: Cookie\n'),
    '6:20 error spec.sessionAffinity Unsupported value: "Cookie"',
  ],
  [
    'a target out of range',
    service('  ports: [{port: 1, targetPort: 65536}]\n'),
    '5:33 error spec.ports[0].targetPort Invalid value: 65536: must be between 1 and 65535',
  ],
  [
    'a negative target',
    service('  ports: [{port: 1, targetPort: -1}]\n'),
    '5:33 error spec.ports[0].targetPort Invalid value: -1: must be between 1 and 65535',
  ],
  [
    'a target without letters',
    service('  ports: [{port: 1, targetPort: "8080"}]\n'),
    '5:33 error spec.ports[0].targetPort Invalid value: "8080": must contain at least one letter',
  ],
  [
    'a long name of a target',
    service('  ports: [{port: 1, targetPort: abcdefghijklmnop}]\n'),
    '5:33 error spec.ports[0].targetPort Invalid value: "abcdefghijklmnop": must be no more than 15 bytes',
  ],
  [
    'a long name of a port',
    service(`  ports: [{port: 1, name: ${'a'.repeat(64)}}]\n`),
    'error spec.ports[0].name Invalid value: ',
  ],
  [
    'a long name',
    service('  ports: [{port: 1}]\n').replace('name: db', `name: ${'a'.repeat(64)}`),
    'error metadata.name Invalid value: ',
  ],
  [
    'a name of a port twice',
    service('  ports: [{name: a, port: 1}, {name: a, port: 2}]\n'),
    '5:38 error spec.ports[1].name Duplicate value: "a"',
  ],
  [
    'a port of the node twice',
    service('  type: NodePort\n  ports: [{name: a, port: 1, nodePort: 30001}, {name: b, port: 2, nodePort: 30001}]\n'),
    '6:77 error spec.ports[1].nodePort Duplicate value: "30001"',
  ],
  [
    'ports for a load balancer that it has not',
    service('  ports: [{port: 1}]\n  allocateLoadBalancerNodePorts: false\n'),
    '6:34 error spec.allocateLoadBalancerNodePorts Forbidden: may only be used when type is LoadBalancer',
  ],
  [
    'a policy for other machines, which cannot reach it,',
    service('  ports: [{port: 1}]\n  externalTrafficPolicy: Local\n'),
    '6:26 error spec.externalTrafficPolicy Invalid value: "Local": may only be set if other machines can reach the Service',
  ],
  [
    'an unknown policy',
    service('  ports: [{port: 1}]\n  internalTrafficPolicy: Node\n'),
    '6:26 error spec.internalTrafficPolicy Unsupported value: "Node"',
  ],
  [
    'an unknown distribution',
    service('  ports: [{port: 1}]\n  trafficDistribution: PreferLocal\n'),
    '6:24 error spec.trafficDistribution Unsupported value: "PreferLocal"',
  ],
  [
    'an unknown family',
    service('  ports: [{port: 1}]\n  ipFamilies: [IPv5]\n'),
    '6:16 error spec.ipFamilies[0] Unsupported value: "IPv5"',
  ],
  [
    'a family twice',
    service('  ports: [{port: 1}]\n  ipFamilies: [IPv4, IPv4]\n'),
    '6:22 error spec.ipFamilies[1] Duplicate value: "IPv4"',
  ],
  [
    'two families and one stack',
    service('  ports: [{port: 1}]\n  ipFamilies: [IPv4, IPv6]\n  ipFamilyPolicy: SingleStack\n'),
    '7:19 error spec.ipFamilyPolicy Invalid value: "SingleStack": must be PreferDualStack or RequireDualStack for two families',
  ],
  [
    'an unknown policy of families',
    service('  ports: [{port: 1}]\n  ipFamilyPolicy: DualStack\n'),
    '6:19 error spec.ipFamilyPolicy Unsupported value: "DualStack"',
  ],
  [
    'an address of another family',
    service('  ports: [{port: 1}]\n  clusterIP: 10.96.0.7\n  ipFamilies: [IPv6]\n'),
    '6:14 error spec.clusterIP Invalid value: "10.96.0.7": must be an IPv6 address, as ipFamilies[0] says',
  ],
  [
    'two addresses of a family',
    service('  ports: [{port: 1}]\n  clusterIP: 10.96.0.7\n  clusterIPs: [10.96.0.7, 10.96.0.8]\n'),
    '7:3 error spec.clusterIPs Invalid value: ["10.96.0.7","10.96.0.8"]: must have one address of each family',
  ],
  [
    'two first addresses',
    service('  ports: [{port: 1}]\n  clusterIP: 10.96.0.7\n  clusterIPs: [10.96.0.8]\n'),
    '7:3 error spec.clusterIPs Invalid value: ["10.96.0.8"]: the first one must be the same as clusterIP',
  ],
  [
    'an address next to None',
    service('  clusterIP: None\n  clusterIPs: [None, 10.96.0.8]\n'),
    '6:3 error spec.clusterIPs Invalid value: ["None","10.96.0.8"]: None must be the only value',
  ],
  [
    'another server and an address',
    service('  type: ExternalName\n  externalName: 192.0.2.7\n  clusterIP: 10.96.0.7\n'),
    '7:14 error spec.clusterIP Forbidden: may not be set when type is ExternalName',
  ],
  [
    'another server and a family',
    service('  type: ExternalName\n  externalName: 192.0.2.7\n  ipFamilies: [IPv4]\n'),
    '7:3 error spec.ipFamilies Forbidden: may not be set when type is ExternalName',
  ],
  [
    'another server without a valid name',
    service('  type: ExternalName\n  externalName: a_b.example\n'),
    '6:17 error spec.externalName Invalid value: "a_b.example"',
  ],
  ['a bad label', service('  selector: {app: "a b"}\n'), 'error spec.selector Invalid value: "a b"'],
])('a Service with %s is refused', (_what, text, problem) => {
  const { configObjects, problems } = loadedManifests(text);
  expect({ configObjects, problems }).toEqual({
    configObjects: [],
    problems: expect.arrayContaining([expect.stringContaining(problem)]) as unknown,
  });
});

test.each(['', '  externalName: a_b.example\n'])('a wrong externalName %j is one problem', (field) => {
  const { problems } = loadedManifests(service(`  type: ExternalName\n${field}`));
  expect(problems).toEqual([expect.stringContaining('error spec.externalName')]);
});

test.each([
  [
    '  ports: [{port: 1}]\n  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}\n',
    'Leave it out for three hours. For no affinity, write sessionAffinity: None.',
  ],
  [
    '  type: NodePort\n  ports: [{port: 1, nodePort: 80}]\n',
    'Leave it out to have one chosen. For another port of the node, set hostPort on a container.',
  ],
  ['  ports: [{port: 1, nodePort: 30080}]\n', 'Write type: NodePort.'],
  ['  ports: [{port: 1}]\n  externalTrafficPolicy: Local\n', 'Leave it out, or write type: NodePort.'],
])('a refused Service says what to do: %#', (spec, hint) => {
  expect(loadManifests(service(spec), loadOptions).problems.map((problem) => problem.hint)).toEqual([hint]);
});
