import { expect, test } from 'vitest';
import { loadPod } from '../builders/load-pod.ts';

const options = { nodeName: 'edge1', source: 'file', origin: '/manifests/web.yaml', hash: () => 'h' } as const;

/** A good pod with one container, changed as a row says. */
function pod(replaced: string, by: string): string {
  const good = [
    'apiVersion: v1',
    'kind: Pod',
    'metadata:',
    '  name: web',
    'spec:',
    '  restartPolicy: Always',
    '  containers:',
    '  - name: main',
    '    image: app:1',
    '    ports: [{name: http, containerPort: 80, protocol: TCP}]',
    '    resources: {limits: {cpu: 500m, memory: 64Mi}}',
    '    volumeMounts: [{name: data, mountPath: /data}]',
    '  volumes:',
    '  - {name: data, emptyDir: {}}',
    '',
  ].join('\n');
  return good.replace(replaced, by);
}

test.each([
  ['name: web', 'name: My_Web', '4:9 error metadata.name', 'Did you mean "my-web"?'],
  [
    'name: web',
    `name: ${'w'.repeat(250)}`,
    '4:9 error metadata.name',
    `The whole name is "${'w'.repeat(250)}-edge1", with that of the node.`,
  ],
  ['Always', 'always', '6:18 error spec.restartPolicy', 'Did you mean "Always"?'],
  ['- name: main', '- name: Main_App', '8:11 error spec.containers[0].name', 'Did you mean "main-app"?'],
  ['- name: main', '- stdin: true', '8:5 error spec.containers[0].name', 'Give every container a name of its own.'],
  ['image: app:1', 'stdin: true', '8:5 error spec.containers[0].image', 'Such as "image: registry.example/app:1.2".'],
  ['name: http', 'name: HTTP_port', '10:20 error spec.containers[0].ports[0].name', 'Did you mean "http-port"?'],
  ['name: http', 'name: administration-port', '10:20 error spec.containers[0].ports[0].name', undefined],
  ['protocol: TCP', 'protocol: tcp', '10:55 error spec.containers[0].ports[0].protocol', 'Did you mean "TCP"?'],
  ['[{name: data,', '[{name: dta,', '12:27 error spec.containers[0].volumeMounts[0].name', 'Did you mean "data"?'],
  [
    '[{name: data,',
    '[{name: logs,',
    '12:27 error spec.containers[0].volumeMounts[0].name',
    'Declare it in spec.volumes, without errors.',
  ],
  [', mountPath: /data', '', '12:20 error spec.containers[0].volumeMounts[0].mountPath', 'Such as "mountPath: /data".'],
  ['{name: data, e', '{name: Data, e', '14:12 error spec.volumes[0].name', 'Did you mean "data"?'],
  ['app:1', 'Registry/App:1', '9:12 warning spec.containers[0].image', 'Did you mean "registry/app:1"?'],
  ['app:1', '"app : 1"', '9:12 warning spec.containers[0].image', 'Such as "registry.example/app:1.2".'],
  ['500m', '500', '11:31 warning spec.containers[0].resources.limits[cpu]', 'Did you mean "500m"?'],
  ['64Mi', '64', '11:45 warning spec.containers[0].resources.limits[memory]', 'Did you mean "64Mi"?'],
  ['64Mi', '64m', '11:45 warning spec.containers[0].resources.limits[memory]', 'Did you mean "64Mi"?'],
])('what to do about %s written as %s', (replaced, by, where, hint) => {
  const { problems } = loadPod(pod(replaced, by), options);
  expect(
    problems.map((problem) => {
      const { line, column, severity, field } = problem;
      return [`${line}:${column} ${severity} ${field}`, problem.hint];
    }),
  ).toContainEqual([where, hint]);
});
