import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';

const service = (spec: string): string => `apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec:\n${spec}`;

test('a Service names the pods of its selector', () => {
  const text = service(
    '  selector: {app: db}\n  clusterIP: None\n  publishNotReadyAddresses: true\n  ports: [{port: 5432}]\n',
  );
  expect(loadManifests(text, loadOptions)).toEqual({
    pods: [],
    problems: [],
    configObjects: [
      { kind: 'Service', namespace: 'default', name: 'db', selector: { app: 'db' }, publishNotReadyAddresses: true },
    ],
  });
});

test.each(['0', '""', 'null'])('targetPort: %s is the port of the Service, as the API server defaults it', (zero) => {
  const text = service(`  selector: {app: db}\n  ports: [{port: 80, targetPort: ${zero}}]\n`);
  expect(loadedManifests(text)).toEqual({ pods: [], configObjects: ['Service default/db'], problems: [] });
});

test.each([
  [
    'a port that it would have to forward',
    '  selector: {app: db}\n  ports: [{port: 80, targetPort: 8080}, {port: 81, targetPort: web}, {port: 82, targetPort: 82}]\n',
    [
      '6:18 warning spec.ports[0].port Port 80 is not forwarded: clients connect to port 8080 of the pods',
      '6:48 warning spec.ports[1].port Port 81 is not forwarded: clients connect to the container port "web" of the pods',
    ],
  ],
  [
    'a port of the node',
    '  type: NodePort\n  selector: {app: db}\n',
    ['5:9 warning spec.type type: NodePort opens no port here'],
  ],
  [
    'a name of another server',
    '  type: ExternalName\n  externalName: db.example\n',
    ['5:9 warning spec.type An ExternalName Service names nothing here'],
  ],
  ['no selector', '  ports: [{port: 80}]\n', ['4:1 warning spec A Service without a selector names no pods']],
  [
    'fields of a proxy',
    '  selector: {app: db}\n  clusterIP: 10.96.0.7\n  clusterIPs: [10.96.0.7]\n  sessionAffinity: None\n  externalIPs: [192.0.2.1]\n',
    [
      '4:1 warning spec Without a proxy these fields have no effect: externalIPs',
      '4:1 note spec Without a proxy these fields have no effect: clusterIP, clusterIPs',
    ],
  ],
])('a Service with %s is used, with a warning', (_what, spec, problems) => {
  expect(loadedManifests(service(spec))).toEqual({ pods: [], configObjects: ['Service default/db'], problems });
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
  ['a bad label', service('  selector: {app: "a b"}\n'), 'error spec.selector Invalid value: "a b"'],
])('a Service with %s is refused', (_what, text, problem) => {
  const { configObjects, problems } = loadedManifests(text);
  expect({ configObjects, problems }).toEqual({
    configObjects: [],
    problems: expect.arrayContaining([expect.stringContaining(problem)]) as unknown,
  });
});
