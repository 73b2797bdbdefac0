import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { configAnnotations } from '../../src/api/values/config-annotations.ts';
import { printableRequest } from '../../src/node/preview/preview-manifests.ts';
import { previewPod } from '../../src/node/preview/preview-pod.ts';
import { CreateContainerRequest, PullImageRequest, RunPodSandboxRequest } from '../../src/cri/generated/cri.ts';
import { mountPointsUnder } from '../../src/engine/host/mounts.ts';
import { configObjectsOf, makeSecret } from '../builders/config-objects.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const secret = makeSecret('login', { password: 'hunter2' });

const web = makeStaticPod('web', {
  spec: {
    securityContext: { runAsUser: 1000, runAsNonRoot: true, fsGroup: 2000, sysctls: [] },
    initContainers: [{ name: 'init', image: 'registry.example/init', imagePullPolicy: 'Always', command: ['true'] }],
    containers: [
      {
        name: 'main',
        image: 'registry.example/app:1',
        command: ['app', '--password=$(PASSWORD)', '--ip=$(IP)'],
        env: [
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        ],
        resources: { requests: { cpu: '100m' }, limits: { memory: '64Mi' } },
        ports: [{ containerPort: 80, hostPort: 8080 }],
        volumeMounts: [
          { name: 'scratch', mountPath: '/scratch' },
          { name: 'login', mountPath: '/login' },
        ],
      },
    ],
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'login', secret: { secretName: 'login' } },
    ],
  },
});

test('the preview of a pod is what the engine then asks of the runtime', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  onTestFinished(async () => {
    for (const mountPoint of await mountPointsUnder(world.folder)) await execa('umount', ['-l', mountPoint]);
  });
  world.runtime.script('init', { exitAfterMs: 100 });
  source.setConfigObjects(secret);
  source.set(web);
  await world.until(() => engine.isReady('web-edge1'));

  const held = engine.pod('web-edge1')?.pod ?? web;
  const deps = { node: makeNodeConfig(world.folder), configObjects: configObjectsOf(secret) };
  const { requests } = await previewPod(held, deps);

  const asked = world.runtime.calls.flatMap(({ method, request }) => {
    const name = Object.entries(methods).find(([, camelCase]) => camelCase === method)?.[0];
    return name === undefined ? [] : [{ method: name, request: withPlaceholders(request) }];
  });
  expect(requests.map(({ method, request }) => ({ method, request: whole(method, request ?? {}) }))).toEqual(asked);
  expect(held.metadata.annotations?.[configAnnotations.source]).toBe('file');
});

const methods = { RunPodSandbox: 'runPodSandbox', PullImage: 'pullImage', CreateContainer: 'createContainer' } as const;
const messages = {
  RunPodSandbox: RunPodSandboxRequest,
  PullImage: PullImageRequest,
  CreateContainer: CreateContainerRequest,
};

/** A previewed request in the form of the wire, with every field. */
function whole(method: keyof typeof messages, { sandboxConfig: _, ...request }: { sandboxConfig?: unknown }): unknown {
  return printableRequest(messages[method].fromPartial(request));
}

/** A request of the engine, with the placeholders of a preview for values that a preview cannot know. */
function withPlaceholders(request: object): unknown {
  const text = JSON.stringify(printableRequest({ ...request, sandboxConfig: undefined }))
    .replaceAll('10.88.0.1', '<pod IP>')
    .replaceAll(/"podSandboxId":"[^"]*"/g, '"podSandboxId":"<id of the sandbox>"')
    .replaceAll(/"image":\{"image":"sha256:[^"]*"/g, '"image":{"image":"<id of the image>"')
    .replaceAll(/(\/containers\/\w+\/)[0-9a-f]{8}"/g, '$1<random>"');
  return JSON.parse(text);
}
