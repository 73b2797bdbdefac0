import { describe, expect, test } from 'vitest';
import type { Service } from '../../../src/api/values/service.ts';
import { type NamedPod, serviceLines, withServiceLines } from '../../../src/engine/service-names/service-lines.ts';

const service = (name: string, more: Partial<Service> = {}): Service => ({
  kind: 'Service',
  namespace: 'default',
  name,
  selector: { app: name },
  publishNotReadyAddresses: false,
  ...more,
});

const pod = (name: string, ip: string, more: Partial<NamedPod> = {}): NamedPod => ({
  namespace: 'default',
  name,
  labels: { app: 'db' },
  hostname: '',
  subdomain: '',
  ips: [ip],
  isReady: true,
  ...more,
});

const here = { namespace: 'default', clusterDomain: '' };
const names = 'db\tdb.default\tdb.default.svc\tdb.default.svc.cluster.local';

describe('serviceLines', () => {
  test.each<[string, Service[], NamedPod[], string[]]>([
    ['a pod by its labels', [service('db')], [pod('db-0', '10.88.0.2')], [`10.88.0.2\t${names}`]],
    [
      'all addresses of all its pods, in the order of their names',
      [service('db')],
      [pod('db-1', '10.88.0.3'), pod('db-0', '10.88.0.2', { ips: ['10.88.0.2', 'fd00::2'] })],
      [`10.88.0.2\t${names}`, `fd00::2\t${names}`, `10.88.0.3\t${names}`],
    ],
    [
      'no pod that lacks a label',
      [service('db', { selector: { app: 'db', tier: 'a' } })],
      [pod('db-0', '10.88.0.2')],
      [],
    ],
    ['no pod without a selector', [service('db', { selector: {} })], [pod('db-0', '10.88.0.2')], []],
    ['no pod of another namespace', [service('db')], [pod('db-0', '10.88.0.2', { namespace: 'other' })], []],
    ['no pod that is not Ready', [service('db')], [pod('db-0', '10.88.0.2', { isReady: false })], []],
    [
      'a pod that is not Ready with publishNotReadyAddresses',
      [service('db', { publishNotReadyAddresses: true })],
      [pod('db-0', '10.88.0.2', { isReady: false })],
      [`10.88.0.2\t${names}`],
    ],
    [
      'a pod of a subdomain by its own name, too',
      [service('db')],
      [pod('db-0', '10.88.0.2', { hostname: 'db-0', subdomain: 'db' })],
      [`10.88.0.2\t${names}\tdb-0.db\tdb-0.db.default\tdb-0.db.default.svc\tdb-0.db.default.svc.cluster.local`],
    ],
  ])('names %s', (_what, services, pods, lines) => {
    expect(serviceLines(services, pods, here)).toEqual(lines);
  });

  test('has the short name for pods of the same namespace alone, and the domain of the node', () => {
    const reader = { namespace: 'other', clusterDomain: 'edge.example' };
    expect(serviceLines([service('db')], [pod('db-0', '10.88.0.2')], reader)).toEqual([
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
