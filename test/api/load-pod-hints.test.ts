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

const envsubst = 'Was this a template? Fill in its variables first: envsubst < FILE > NEW';
const template = 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.';

test.each([
  ['name: web', 'name: My_Web', '4:9 error metadata.name', 'Did you mean "my-web"?'],
  [
    'name: web',
    `name: ${'w'.repeat(250)}`,
    '4:9 error metadata.name',
    `The whole name is "${'w'.repeat(250)}-edge1", with that of the node.`,
  ],
  ['name: web', 'name: "${NAME}"', '4:9 error metadata.name', envsubst],
  ['Always', '${POLICY}', '6:18 error spec.restartPolicy', envsubst],
  ['Always', '"{{ .policy }}"', '6:18 error spec.restartPolicy', template],
  ['app:1', '$IMAGE', '9:12 warning spec.containers[0].image', envsubst],
  ['80', '$PORT', '10:41 error spec.containers[0].ports[0].containerPort', envsubst],
  ['Always', 'always', '6:18 error spec.restartPolicy', 'Did you mean "Always"?'],
  ['- name: main', '- name: Main_App', '8:11 error spec.containers[0].name', 'Did you mean "main-app"?'],
  ['- name: main', '- stdin: true', '8:5 error spec.containers[0].name', 'Give every container a different name.'],
  ['image: app:1', 'stdin: true', '8:5 error spec.containers[0].image', 'Such as "image: registry.example/app:1.2".'],
  ['name: http', 'name: HTTP_port', '10:20 error spec.containers[0].ports[0].name', 'Did you mean "http-port"?'],
  ['name: http', 'name: administration-port', '10:20 error spec.containers[0].ports[0].name', undefined],
  ['protocol: TCP', 'protocol: tcp', '10:55 error spec.containers[0].ports[0].protocol', 'Did you mean "TCP"?'],
  ['[{name: data,', '[{name: dta,', '12:27 error spec.containers[0].volumeMounts[0].name', 'Did you mean "data"?'],
  [
    '[{name: data,',
    '[{name: logs,',
    '12:27 error spec.containers[0].volumeMounts[0].name',
    'Declare it in spec.volumes.',
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

/** Problems of the good pod with another text, as `severity field: message (hint)`. */
function problemsWith(replaced: string, by: string, node: object = {}): string[] {
  return loadPod(pod(replaced, by), { ...options, ...node }).problems.map(
    ({ severity, field, message, hint }) => `${severity} ${field}: ${message} (${hint})`,
  );
}

test('a mount of a volume with errors suggests no other volume', () => {
  const volumes = '{name: data, hostPath: {path: ../x}}\n  - {name: dat, emptyDir: {}}';
  expect(problemsWith('{name: data, emptyDir: {}}', volumes)).toEqual([
    'error spec.volumes[0].hostPath.path: Invalid value: "../x": must not contain ".." (undefined)',
    'error spec.containers[0].volumeMounts[0].name: Not found: "data" (Its declaration has errors: correct those first.)',
  ]);
});

test.each([
  ['configMap: {name: a, defaultMode: 644}', 'error', 'configMap.defaultMode', 'Write 0644, or 420 in JSON.'],
  ['secret: {secretName: a, defaultMode: 600}', 'error', 'secret.defaultMode', 'Write 0600, or 384 in JSON.'],
  ['secret: {secretName: a, defaultMode: 888}', 'error', 'secret.defaultMode', 'undefined'],
  ['secret: {secretName: a, defaultMode: 400}', 'warning', 'secret.defaultMode', 'Did you mean 0400?'],
  [
    'projected: {sources: [{secret: {name: a, items: [{key: a, path: a, mode: 440}]}}]}',
    'warning',
    'projected.sources[0].secret.items[0].mode',
    'Did you mean 0440?',
  ],
])('a file mode that is written in decimal: %s', (source, severity, field, hint) => {
  const { problems } = loadPod(pod('emptyDir: {}', source), options);
  const ofVolume = problems.filter(({ field = '' }) => field.startsWith('spec.volumes'));
  expect(ofVolume.map((problem) => [problem.severity, problem.field, `${problem.hint}`])).toEqual([
    [severity, `spec.volumes[0].${field}`, hint],
  ]);
});

test.each([
  ['hostPort: 80, hostIP: 192.0.2.1', []],
  ['hostPort: 80, hostIP: "::1"', []],
  ['hostPort: 80, hostIP: ""', []],
  ...['eth0', '010.0.0.1', 'fe80::1%eth0', '192.0.2.1/32', '192.0.2.1 -j DROP'].map((text): [string, string[]] => [
    `hostPort: 80, hostIP: "${text}"`,
    [
      `10:67 warning spec.containers[0].ports[0].hostIP: "${text}" is not an IP address: the pod cannot start (Write an address of this node, such as 192.0.2.1, or remove hostIP.)`,
    ],
  ]),
  [
    'hostIP: 192.0.2.1',
    ['10:53 warning spec.containers[0].ports[0].hostIP: hostIP has no effect without hostPort (Set hostPort.)'],
  ],
])('the address of a host port: %s', (fields, expected) => {
  const { problems } = loadPod(pod('containerPort: 80, protocol: TCP', `containerPort: 80, ${fields}`), options);
  expect(
    problems.map(
      ({ line, column, severity, field, message, hint }) =>
        `${line}:${column} ${severity} ${field}: ${message} (${hint})`,
    ),
  ).toEqual(expected);
  const onHost = pod('containerPort: 80, protocol: TCP', `containerPort: 80, ${fields}`);
  expect(loadPod(onHost.replace('spec:', 'spec:\n  hostNetwork: true'), options).problems).toEqual([]);
});

test.each([
  ['until nslookup db.default.svc; do sleep 2; done', 'nslookup'],
  ['while ! dig +short db; do sleep 2; done', 'dig'],
  ['until nc -z db 5432; do sleep 1; done', undefined],
  ['nslookup example.com', undefined],
])('a loop that waits: %s', (loop, program) => {
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: {
      initContainers: [{ name: 'wait', image: 'busybox:1', command: ['sh', '-c', loop] }],
      containers: [{ name: 'app', image: 'app:1' }],
    },
  });
  expect(loadPod(text, options).problems.map(({ field, message }) => `${field}: ${message}`)).toEqual(
    program === undefined
      ? []
      : [
          `spec.initContainers[0].command[2]: ${program} asks a DNS server, which knows no Services of this node: the loop may not end`,
        ],
  );
});

test.each([
  ['/var/lib/kubelet/device-plugins', '/var/lib/kubelet-ts', 1],
  ['/var/lib/kubelet/plugins_registry/', '/var/lib/kubelet-ts', 1],
  ['/var/lib/kubelet/plugins/csi.example', '/var/lib/kubelet-ts', 1],
  ['/var/lib/kubelet/pods', '/r', 1],
  ['/var/lib/kubelet/pod-resources', '/var/lib/kubelet', 0],
  ['/var/lib/kubelet/config', '/var/lib/kubelet-ts', 0],
  ['/var/lib/kubelet-ts/device-plugins', '/var/lib/kubelet-ts', 0],
])('a mount of %s by an agent in %s: %i warnings', (path, rootDir, count) => {
  const below = path.slice('/var/lib/kubelet'.length);
  const warning = `warning spec.volumes[0].hostPath.path: ${path} belongs to a kubelet: this agent uses ${rootDir}${below} (Mount ${rootDir}${below}, or run the agent with --root-dir /var/lib/kubelet.)`;
  expect(problemsWith('emptyDir: {}', `hostPath: {path: ${path}}`, { rootDir })).toEqual(count === 1 ? [warning] : []);
});

test.each([
  ['seccomp.security.alpha.kubernetes.io/pod', 'runtime/default', 'Write spec.securityContext.seccompProfile.'],
  ['security.alpha.kubernetes.io/sysctls', 'a=1', 'Write spec.securityContext.sysctls.'],
  ['scheduler.alpha.kubernetes.io/critical-pod', '""', 'Write spec.priorityClassName: system-node-critical.'],
  ['pod.beta.kubernetes.io/init-containers', '"[]"', 'Write spec.initContainers.'],
])('the annotation %s, which has no effect any more, is a warning', (key, value, hint) => {
  expect(problemsWith('name: web', `name: web\n  annotations: {${key}: ${value}}`)).toEqual([
    `warning metadata.annotations[${key}]: Kubernetes no longer reads this annotation: it has no effect (${hint})`,
  ]);
});

test.each([
  ['test', false],
  ['pre-delete', false],
  ['post-upgrade, pre-rollback', false],
  ['pre-install', true],
  ['post-install,post-upgrade', true],
])('a Helm hook of %s is a warning, and a pod: %s', (hook, isPod) => {
  const { pod: loaded, problems } = loadPod(
    pod('name: web', `name: web\n  annotations: {helm.sh/hook: "${hook}"}`),
    options,
  );
  expect([loaded !== undefined, problems.map(({ severity, field }) => `${severity} ${field}`)]).toEqual([
    isPod,
    ['warning metadata.annotations[helm.sh/hook]'],
  ]);
});

test('scheduling gates are named, not the node that the manifest does not have', () => {
  expect(problemsWith('  restartPolicy', '  schedulingGates: [{name: a.b/c}]\n  restartPolicy')).toEqual([
    'error spec.schedulingGates: Forbidden: the pod of a manifest has its node already, and nothing here removes a gate (Remove schedulingGates.)',
  ]);
});
