import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { register } from '../../../src/commands/validate.ts';
import { UserError } from '../../../src/errors.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, 'pods'));
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A path below the folder. */
const at = (name: string): string => join(folder, name);

const good = `apiVersion: v1
kind: Pod
metadata: {name: web, uid: web-1}
spec:
  containers:
    - {name: app, image: "localhost/busybox:1"}
`;

/** Runs the command in this process. Paths below `folder` are printed without it. */
async function validate(args: readonly string[], input?: string): Promise<object> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  const stdin = new PassThrough();
  stdin.end(input);
  const connect = () => Promise.reject(new UserError('no container runtime answers'));
  const deps = makeDeps(makeRuntime([], []), { stdin, connect });
  register(program, deps);
  await program.parseAsync(['validate', '--hostname-override', 'edge1', ...args], { from: 'user' });
  const { stdout, stderr, exitCode = 0 } = deps.printed;
  return { exitCode, stdout: stdout.replaceAll(`${folder}/`, ''), stderr: stderr.replaceAll(`${folder}/`, '') };
}

test('a good manifest is reported as good', async () => {
  expect(await validate(['-'], good)).toEqual({ exitCode: 0, stdout: '1 pod: 0 errors, 0 warnings\n', stderr: '' });
});

const kubeletConfiguration = (fields: object): string =>
  JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', ...fields });

test('without a name the manifests of --config are checked, those of its URL too', async () => {
  const server = await WebServer.start();
  server.answer = good.replaceAll('web', 'remote');
  const fields = { staticPodPath: 'pods', staticPodURL: server.url() };
  await writeFile(join(folder, 'kubelet.json'), kubeletConfiguration(fields));
  await writeFile(join(folder, 'pods/a.yaml'), good);
  expect(await validate(['--config', at('kubelet.json')])).toEqual({
    exitCode: 0,
    stdout: '2 pods: 0 errors, 0 warnings\n',
    stderr: '',
  });
  server.answer = good.replaceAll('name: app', 'nam: app');
  expect(await validate(['--config', at('kubelet.json'), '--defaulted', at('pods/a.yaml')])).toMatchObject({
    exitCode: 0,
  });
  expect(await validate(['--config', at('kubelet.json')])).toMatchObject({
    exitCode: 2,
    stdout: expect.stringContaining(`${server.url()}:6:7: error: spec.containers[0].name: Required value`) as string,
  });
});

test('-k builds a kustomization, and a mistake has the line of the result', async () => {
  await writeFile(join(folder, 'built.yaml'), good.replace('name: app', 'nam: app'));
  await writeFile(join(folder, 'kustomize'), `#!/bin/sh\ncat ${folder}/built.yaml\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`);
  const { stdout, ...rest } = (await validate(['-k', at('pods')])) as { stdout: string };
  expect({ ...rest, first: stdout.split('\n')[0] }).toEqual({
    exitCode: 2,
    stderr: '',
    first: 'pods:6:7: error: spec.containers[0].name: Required value: must be set',
  });
});

test('with --offline and without a runtime, a warning says that the images were not checked', async () => {
  const runtime = ['--container-runtime-endpoint', `unix://${folder}/none.sock`];
  expect(await validate(['--offline', ...runtime, '-'], good)).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^-: warning: the images were not checked: .+\n1 pod: 0 errors, 1 warning\n$/,
    ) as string,
    stderr: '',
  });
});

test('to name nothing is a mistake', async () => {
  await expect(validate([])).rejects.toMatchObject({
    exitCode: 2,
    message: 'no manifest was named',
    hint: 'Name files or folders, - for stdin, or a --config with staticPodPath.',
  });
});

test('a folder is reported file by file, with every line in question', async () => {
  await writeFile(join(folder, 'pods/a.yaml'), good.replace('image:', 'imagee: x, image:'));
  await writeFile(join(folder, 'pods/b.json'), '{"apiVersion": "v1", "kind": "Pod",\n "metadata": {"name": 3}}\n');
  await writeFile(join(folder, 'pods/b.json.bak'), '');
  expect(await validate([at('pods')])).toEqual({
    exitCode: 2,
    stdout: [
      'pods/b.json.bak: warning: ignored: its name does not end in .yaml, .yml, .json',
      'pods/a.yaml:6:19: warning: spec.containers[0].imagee: Unknown field "imagee" is ignored',
      '    6 |     - {name: app, imagee: x, image: "localhost/busybox:1"}',
      '      |                   ^~~~~~',
      '  hint: Did you mean "image"?',
      'pods/b.json:1:1: error: spec.containers: Required value: must have at least one',
      '    1 | {"apiVersion": "v1", "kind": "Pod",',
      '      | ^',
      '  hint: Begin each container with "- name: …".',
      'pods/b.json:2:23: error: metadata.name: Expected a string, found the number 3',
      '    2 |  "metadata": {"name": 3}}',
      '      |                       ^',
      '  hint: Put it in quotes: "3".',
      '2 pods (1 broken): 2 errors, 2 warnings',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('warnings alone are fine, unless they are to be errors', async () => {
  const odd = good.replace('metadata:', 'metadatas: {}\nmetadata:');
  expect(await validate(['-'], odd)).toMatchObject({ exitCode: 0 });
  expect(await validate(['--strict', '-'], odd)).toMatchObject({
    exitCode: 2,
    stdout: expect.stringContaining('<stdin>:3:1: error: metadatas: Unknown field "metadatas" is ignored\n') as string,
  });
});

test('a path that is not there is an error', async () => {
  expect(await validate([at('gone.yaml')])).toEqual({
    exitCode: 2,
    stdout: 'gone.yaml: error: no such file or folder\n0 pods: 1 error, 0 warnings\n',
    stderr: '',
  });
});

test('a folder of folders is an error that names them, and a broken pod counts as one', async () => {
  const broken = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}\n';
  await mkdir(join(folder, 'all/a'), { recursive: true });
  await writeFile(join(folder, 'all/a/web.yaml'), broken);
  expect(await validate([at('all')])).toEqual({
    exitCode: 2,
    stdout: [
      'all: error: no manifest is in this folder',
      '  hint: Folders in folders are not read. Name each of them: all/*/',
      'all/a: warning: ignored: it is a folder, and folders in folders are not read',
      '0 pods: 1 error, 1 warning\n',
    ].join('\n'),
    stderr: '',
  });
  expect(await validate([at('all/a')])).toMatchObject({
    stdout: expect.stringMatching(/\n1 pod \(1 broken\): 1 error, 0 warnings\n$/) as string,
  });
});

test('a URL is an error that names the flag for it, and shows no password', async () => {
  expect(await validate(['https://ada:secret@box.example/a.yaml'])).toEqual({
    exitCode: 2,
    stdout: [
      'https://box.example/a.yaml: error: a URL is neither a file nor a folder',
      '  hint: run, run-once and validate read it with --manifest-url URL; others from stdin: curl -fsS URL | kubelet-ts apply -f -',
      '0 pods: 1 error, 0 warnings\n',
    ].join('\n'),
    stderr: '',
  });
});

test('-o json is one object', async () => {
  const { stdout, ...rest } = (await validate(['-o', 'json', '-'], good)) as { stdout: string };
  expect(rest).toEqual({ exitCode: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    errors: 0,
    warnings: 0,
    notes: 0,
    problems: [],
    pods: [{ namespace: 'default', name: 'web-edge1', uid: 'web-1' }],
    configMaps: [],
    secrets: [],
    runtimeClasses: [],
    priorityClasses: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    csiDrivers: [],
    services: [],
    cronJobs: [],
  });
});

test('--defaulted prints the pods as they would be held, and nothing else on stdout', async () => {
  expect(await validate(['--defaulted', '-'], good)).toEqual({
    exitCode: 0,
    stderr: '1 pod: 0 errors, 0 warnings\n',
    stdout: [
      'apiVersion: v1',
      'kind: Pod',
      'metadata:',
      '  annotations:',
      '    kubernetes.io/config.hash: web-1',
      '    kubernetes.io/config.source: file',
      '  name: web-edge1',
      '  namespace: default',
      '  uid: web-1',
      'spec:',
      '  containers:',
      '    - image: localhost/busybox:1',
      '      imagePullPolicy: IfNotPresent',
      '      name: app',
      '      terminationMessagePath: /dev/termination-log',
      '      terminationMessagePolicy: File',
      '  dnsPolicy: ClusterFirst',
      '  enableServiceLinks: true',
      '  nodeName: edge1',
      '  restartPolicy: Always',
      '  schedulerName: default-scheduler',
      '  securityContext: {}',
      '  terminationGracePeriodSeconds: 30',
      '  tolerations:',
      '    - effect: NoExecute',
      '      operator: Exists',
      'status:',
      '  phase: Pending',
      '',
    ].join('\n'),
  });
});

test('--cri prints what the runtime would be asked for, and makes nothing', async () => {
  const flags = [
    '--root-dir',
    at('state'),
    '--cgroup-driver',
    'cgroupfs',
    '--resolv-conf',
    '',
    '--cluster-dns',
    '192.0.2.53',
  ];
  const { stdout, ...rest } = (await validate(['--cri', '-o', 'json', ...flags, '-'], good)) as { stdout: string };
  expect(rest).toEqual({ exitCode: 0, stderr: '1 pod: 0 errors, 0 warnings\n' });
  expect(JSON.parse(stdout)).toEqual([
    {
      pod: 'default/web-edge1',
      requests: [
        { method: 'RunPodSandbox', request: expect.anything() as unknown },
        { method: 'PullImage', when: 'the image is not present', request: expect.anything() as unknown },
        { method: 'CreateContainer', request: expect.anything() as unknown },
      ],
      files: [
        { path: 'state/pods/web-1/etc-hosts', content: expect.stringContaining('<pod IP>\tweb-edge1\n') as string },
        { path: '<folder of the sandbox>/resolv.conf', content: 'nameserver 192.0.2.53\noptions ndots:5\n' },
      ],
    },
  ]);
  expect(await readdir(folder)).toEqual(['pods']);
});

test('nothing of a Secret is ever printed', async () => {
  const secret = (data: string): string =>
    `---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: default}\n${data}\n`;
  const user = good.replace(
    'image:',
    'args: ["$(PW)"], env: [{name: PW, valueFrom: {secretKeyRef: {name: login, key: pw}}}], image:',
  );
  const manifests = [
    user + secret('stringData: {pw: hunter2}'),
    user + secret('stringData: {pw: [hunter2]}\ndata: hunter3'),
    user + secret('data: {pw: "hunter2!", hunter: 5'),
  ];
  const forms = [[], ['-o', 'json'], ['--defaulted'], ['--cri']];
  for (const flags of manifests.flatMap((input) => forms.map((form) => ({ form, input })))) {
    expect(JSON.stringify(await validate([...flags.form, '-'], flags.input))).not.toMatch(/hunter\d/);
  }
});
