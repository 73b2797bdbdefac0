import { expect, test } from 'vitest';
import { describeServices } from '../../../src/commands/describe/describe-objects.ts';
import { writeAllocations } from '../../../src/engine/services/service-records.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { objectHistory } from '../../../src/engine/history/history-file.ts';
import { writeEvents } from '../../builders/recorded-events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

const manifest = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}, {name: dns, port: 53, protocol: UDP}]}
`;

test('describe shows a Service with its addresses and the Ready pods behind it, as kubectl does', async () => {
  const rootDir = await temporaryFolder();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  await writeAllocations(
    rootDir,
    new Map([['default/web', { clusterIPs: ['10.223.0.17'], nodePorts: { 'TCP/80': 30_080 } }]]),
  );
  const pods = [makeEntry('a'), makeEntry('b', { containerState: { waiting: {} } }), makeEntry('c')].map(
    (entry, index) => ({
      ...entry,
      pod: {
        ...entry.pod,
        metadata: { ...entry.pod.metadata, labels: { app: index === 2 ? 'other' : 'web' } },
        status: { ...entry.pod.status, podIPs: [{ ip: `10.88.0.${index}` }] },
      },
    }),
  );
  const message = 'Service default/web has a selector, so Endpoints web has no effect';
  const of = objectHistory({ kind: 'Service', namespace: 'default', name: 'web' });
  await writeEvents(rootDir, [{ of, reason: 'ServiceProblem', eventType: 'Warning', message, at: noon - 60_000 }]);
  const snapshot = makeSnapshot(pods);
  const [text = ''] = await describeServices({ names: ['web'] }, snapshot, { rootDir }, noon);
  expect(text.split('\n')).toEqual([
    'Name:                     web',
    'Namespace:                default',
    'Declared By:              /m/web.yaml',
    'Selector:                 app=web',
    'Type:                     NodePort',
    'IP Family Policy:         SingleStack',
    'IP Families:              IPv4',
    'IP:                       10.223.0.17',
    'IPs:                      10.223.0.17',
    'Port:                     http  80/TCP',
    'TargetPort:               8080/TCP',
    'NodePort:                 30080/TCP',
    'Endpoints:                10.88.0.0:8080',
    'Port:                     dns  53/UDP',
    'TargetPort:               53/UDP',
    'Endpoints:                10.88.0.0:53',
    'Session Affinity:         None',
    'External Traffic Policy:  Cluster',
    'Internal Traffic Policy:  Cluster',
    'Events:',
    '  Type      Reason           Age   Object        Message',
    '  Warning   ServiceProblem   60s   service/web   Service default/web has a selector, so Endpoints web has no effect',
    '',
  ]);
});

test('describe shows the declared endpoints of a Service without a selector', async () => {
  const rootDir = await temporaryFolder();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  const outside = `
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {ports: [{port: 5432}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.7]}, {addresses: [192.0.2.8]}]
ports: [{port: 15432}]
`;
  await lastGood.save('file', '/m/db.yaml', Buffer.from(outside));
  await writeAllocations(rootDir, new Map([['default/db', { clusterIPs: ['10.223.0.17'], nodePorts: {} }]]));
  const [text = ''] = await describeServices({ names: ['db'] }, makeSnapshot([]), { rootDir }, noon);
  expect(text.split('\n').filter((line) => line.startsWith('Endpoints:'))).toEqual([
    'Endpoints:                192.0.2.7:15432,192.0.2.8:15432',
  ]);
});
