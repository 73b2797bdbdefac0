import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pullImages } from '../../src/commands/images/pull-images.ts';
import { connectToRuntime } from '../../src/node/runtime-connection.ts';
import { makeDeps } from '../commands/runtime-listings.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const podOf = (name: string, namespace: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: ${namespace} }
spec: { imagePullSecrets: [{ name: pull }], containers: [{ name: app, image: "registry.example/app:1" }] }
`;

const secretOf = (namespace: string, password: string): string => `
apiVersion: v1
kind: Secret
metadata: { name: pull, namespace: ${namespace} }
type: kubernetes.io/dockerconfigjson
stringData: { .dockerconfigjson: '{"auths":{"registry.example":{"username":"u","password":"${password}"}}}' }
`;

test('an image is pulled with the credentials of each pod that uses it, until one pull works', async () => {
  const rootDir = await temporaryFolder();
  const [file, socketPath] = [join(rootDir, 'pods.yaml'), join(rootDir, 'cri.sock')];
  const pods = [podOf('web', 'shop'), podOf('twin', 'shop'), podOf('web', 'bank'), podOf('web', 'club')];
  const secrets = [secretOf('shop', 'old'), secretOf('bank', 'new'), secretOf('club', 'unused')];
  await writeFile(file, [...pods, ...secrets].join('---'));
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  const denied = new Refusal(codes.unknown, 'denied');
  runtime.injectError('pullImage', denied, { when: ({ auth }) => auth?.password === 'old', times: Infinity });
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const deps = makeDeps(runtime, { connect: connectToRuntime });
  const containerRuntimeEndpoint = `unix://${socketPath}`;
  await pullImages([], { rootDir, containerRuntimeEndpoint, filename: [file], parallel: 1 }, deps);
  const tried = runtime.requestsOf('pullImage').map(({ auth }) => auth?.password);
  expect({ tried, stdout: deps.printed.stdout }).toEqual({
    tried: ['old', 'new'],
    stdout: 'Pulled image: registry.example/app:1\n',
  });
});
