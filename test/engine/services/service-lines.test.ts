import { describe, expect, test } from 'vitest';
import type { Service } from '../../../src/api/values/service.ts';
import { serviceLines, withServiceLines } from '../../../src/engine/services/service-lines.ts';
import type { ServicePod } from '../../../src/engine/services/service-pod.ts';
import { makeServicePod } from '../../builders/service-pod.ts';
import { headless, makeService } from '../../builders/services.ts';

const pod = (name: string, ip: string, more: Partial<ServicePod> = {}): ServicePod =>
  makeServicePod(name, { labels: { app: 'db' }, ips: [ip], ...more });

const here = { namespace: 'default', clusterDomain: '' };
const names = 'db\tdb.default\tdb.default.svc\tdb.default.svc.cluster.local';
const allocations = new Map([['default/db', { clusterIPs: ['10.223.0.9', 'fd00::9'], nodePorts: {} }]]);

const addresses = [
  {
    kind: 'Endpoints' as const,
    namespace: 'default',
    name: 'db',
    service: 'db',
    subsets: [{ ips: ['192.0.2.8', '192.0.2.7'], ports: [{ name: '', protocol: 'TCP' as const, port: 5432 }] }],
  },
];

const linesFor = (services: Service[], pods: ServicePod[], reader = here): string[] =>
  serviceLines({ services, pods, addresses, allocations }, reader);

describe('serviceLines', () => {
  test.each<[string, Service[], ServicePod[], string[]]>([
    [
      'the cluster addresses, even without a pod',
      [makeService('db')],
      [],
      [`10.223.0.9\t${names}`, `fd00::9\t${names}`],
    ],
    [
      'the pods, if it could not get a cluster address',
      [makeService('web', { selector: { app: 'db' } })],
      [pod('db-0', '10.88.0.2')],
      ['10.88.0.2\tweb\tweb.default\tweb.default.svc\tweb.default.svc.cluster.local'],
    ],
    ['a pod by its labels', [headless('db')], [pod('db-0', '10.88.0.2')], [`10.88.0.2\t${names}`]],
    [
      'all addresses of all its pods, in the order of their names',
      [headless('db')],
      [pod('db-1', '10.88.0.3'), pod('db-0', '10.88.0.2', { ips: ['10.88.0.2', 'fd00::2'] })],
      [`10.88.0.2\t${names}`, `fd00::2\t${names}`, `10.88.0.3\t${names}`],
    ],
    [
      'no pod that lacks a label',
      [headless('db', { selector: { app: 'db', tier: 'a' } })],
      [pod('db-0', '10.88.0.2')],
      [],
    ],
    [
      'addresses outside without a selector',
      [headless('db', { selector: {} })],
      [pod('db-0', '10.88.0.2')],
      [`192.0.2.7\t${names}`, `192.0.2.8\t${names}`],
    ],
    ['no pod of another namespace', [headless('db')], [pod('db-0', '10.88.0.2', { namespace: 'other' })], []],
    ['no pod that is not Ready', [headless('db')], [pod('db-0', '10.88.0.2', { isReady: false })], []],
    ['no pod that stops', [headless('db')], [pod('db-0', '10.88.0.2', { isTerminating: true })], []],
    [
      'a pod that is not Ready with publishNotReadyAddresses',
      [headless('db', { publishNotReadyAddresses: true })],
      [pod('db-0', '10.88.0.2', { isReady: false })],
      [`10.88.0.2\t${names}`],
    ],
    [
      'a pod that stops with publishNotReadyAddresses',
      [headless('db', { publishNotReadyAddresses: true })],
      [pod('db-0', '10.88.0.2', { isTerminating: true })],
      [`10.88.0.2\t${names}`],
    ],
    [
      'a pod of a subdomain by its own name, too',
      [headless('db')],
      [pod('db-0', '10.88.0.2', { hostname: 'db-0', subdomain: 'db' })],
      [
        `10.88.0.2\t${names}`,
        '10.88.0.2\tdb-0.db\tdb-0.db.default\tdb-0.db.default.svc\tdb-0.db.default.svc.cluster.local',
      ],
    ],
    [
      'the address of an ExternalName',
      [makeService('far', { type: 'ExternalName', externalName: '192.0.2.4' })],
      [],
      ['192.0.2.4\tfar\tfar.default\tfar.default.svc\tfar.default.svc.cluster.local'],
    ],
    [
      'another Service by an ExternalName',
      [
        makeService('db', { namespace: 'shared', clusterIPs: ['None'] }),
        makeService('far', { type: 'ExternalName', externalName: 'db.shared.svc.cluster.local' }),
      ],
      [pod('db-0', '10.88.0.2', { namespace: 'shared' })],
      [
        '10.88.0.2\tfar\tfar.default\tfar.default.svc\tfar.default.svc.cluster.local',
        '10.88.0.2\tdb.shared\tdb.shared.svc\tdb.shared.svc.cluster.local',
      ],
    ],
    [
      'no other server by an ExternalName',
      [makeService('far', { type: 'ExternalName', externalName: 'db.example' })],
      [],
      [],
    ],
  ])('names %s', (_what, services, pods, lines) => {
    expect(linesFor(services, pods)).toEqual(lines);
  });

  test('has the short name for pods of the same namespace alone, and the domain of the node', () => {
    const reader = { namespace: 'other', clusterDomain: 'edge.example' };
    expect(linesFor([headless('db')], [pod('db-0', '10.88.0.2')], reader)).toEqual([
      '10.88.0.2\tdb.default\tdb.default.svc\tdb.default.svc.edge.example',
    ]);
  });
});

describe('withServiceLines', () => {
  const file = '127.0.0.1\tlocalhost\n10.88.0.9\tweb\n';
  const named = `${file}\n# Entries added by Services.\n10.88.0.2\tdb\n# End of the entries added by Services.\n`;

  test.each([
    ['keeps what it has', `${named}10.0.0.1 mine\n`, ['10.88.0.2\tdb'], `${named}10.0.0.1 mine\n`],
    ['adds lines', file, ['10.88.0.2\tdb'], named],
    ['replaces its lines', named.replace('0.2', '0.7'), ['10.88.0.2\tdb'], named],
    ['removes its lines', named, [], file],
    ['keeps a file without lines', file, [], file],
    ['keeps what a container wrote below', `${named}10.0.0.1 mine\n`, [], `${file}10.0.0.1 mine\n`],
    [
      'keeps a block whose end a container removed',
      `${file}\n# Entries added by Services.\n1`,
      [],
      `${file}\n# Entries added by Services.\n1`,
    ],
  ])('%s', (_what, before, lines, after) => {
    expect(withServiceLines(before, lines)).toBe(after);
  });
});
