import { expect, test } from 'vitest';
import { loadManifest } from '../../../src/engine/config/load-manifest.ts';
import { podOfDeclaration } from '../../../src/origins/metadata/container-declaration.ts';

const declaration = `# DISCLAIMER:
# This container declaration format is not a public API and may change without notice.
spec:
  containers:
  - name: web-1
    image: registry.example/web:1
    command:
    - /serve
    args: [--port, '8080']
    env:
    - name: PORT
      value: 8080
    - {name: DEBUG, value: true}
    securityContext:
      privileged: true
    stdin: false
    tty: true
    volumeMounts:
    - {name: data, mountPath: /data, readOnly: true}
    - {name: scratch, mountPath: /scratch}
  volumes:
  - name: data
    hostPath: {path: /srv}
  - name: scratch
    emptyDir: {medium: Memory}
  restartPolicy: OnFailure
`;

test('a declaration becomes a Pod with the network of the machine', () => {
  expect(JSON.parse(podOfDeclaration(declaration).toString())).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1' },
    spec: {
      hostNetwork: true,
      restartPolicy: 'OnFailure',
      containers: [
        {
          name: 'web-1',
          image: 'registry.example/web:1',
          command: ['/serve'],
          args: ['--port', '8080'],
          env: [
            { name: 'PORT', value: '8080' },
            { name: 'DEBUG', value: 'true' },
          ],
          securityContext: { privileged: true },
          stdin: false,
          tty: true,
          volumeMounts: [
            { name: 'data', mountPath: '/data', readOnly: true },
            { name: 'scratch', mountPath: '/scratch' },
          ],
        },
      ],
      volumes: [
        { name: 'data', hostPath: { path: '/srv' } },
        { name: 'scratch', emptyDir: { medium: 'Memory' } },
      ],
    },
  });
});

test('that Pod is accepted', () => {
  const { pods, problems } = loadManifest(podOfDeclaration(declaration), 'gce://gce-container-declaration', {
    nodeName: 'edge1',
  });
  expect({ names: pods.map(({ metadata }) => metadata.name), problems }).toEqual({
    names: ['web-1-edge1'],
    problems: [],
  });
});

test('a container restarts always by default', () => {
  const pod = podOfDeclaration('spec: {containers: [{name: c, image: i}]}').toString();
  expect(JSON.parse(pod)).toMatchObject({ spec: { restartPolicy: 'Always' } });
});

test.each([
  ['two containers', 'spec: {containers: [{name: a}, {name: b}]}', /^the declaration must have exactly one container/],
  ['a text', 'hello', /^the declaration must have exactly one container/],
  ['broken YAML', 'spec: {', /^the declaration is no YAML at line 1, column 8$/],
  [
    'a persistent disk',
    'spec: {containers: [{name: a}], volumes: [{name: pd, gcePersistentDisk: {pdName: d}}]}',
    /^volume pd is a persistent disk, which nothing mounts here$/,
  ],
])('%s is not a declaration', (_what, text, message) => {
  expect(() => podOfDeclaration(text)).toThrow(message);
});
