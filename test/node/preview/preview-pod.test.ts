import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { printableRequest } from '../../../src/node/preview/preview-manifests.ts';
import { type PodPreview, previewPod } from '../../../src/node/preview/preview-pod.ts';
import { configObjectsOf } from '../../builders/config-objects.ts';
import { makeNodeConfig } from '../../builders/node-config.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const main = { name: 'main', image: 'registry.example/app:1' };

function preview(pod: Pod, folder = '/nowhere'): Promise<PodPreview> {
  return previewPod(pod, { node: makeNodeConfig(folder), configObjects: configObjectsOf() });
}

const methodsOf = ({ requests }: PodPreview): object[] =>
  requests.map(({ method, when, refused }) => ({ method, ...(when && { when }), ...(refused && { refused }) }));

test('images are pulled as their policy says', async () => {
  const pod = makeStaticPod('web', {
    spec: {
      containers: [
        { ...main, name: 'a', imagePullPolicy: 'Always' },
        { ...main, name: 'b', imagePullPolicy: 'IfNotPresent' },
        { ...main, name: 'c', imagePullPolicy: 'Never' },
        { ...main, name: 'd', image: 'No such name' },
      ],
    },
  });
  expect(methodsOf(await preview(pod))).toEqual([
    { method: 'RunPodSandbox' },
    { method: 'PullImage' },
    { method: 'CreateContainer' },
    { method: 'PullImage', when: 'the image is not present' },
    { method: 'CreateContainer' },
    { method: 'CreateContainer' },
    { method: 'PullImage', refused: '"No such name" is not an image name' },
    { method: 'CreateContainer' },
  ]);
});

test('a container that could not be made says why', async () => {
  const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'conf', key: 'a' } } }];
  expect(methodsOf(await preview(makeStaticPod('web', { spec: { containers: [{ ...main, env }] } })))).toEqual([
    { method: 'RunPodSandbox' },
    { method: 'PullImage', when: 'the image is not present' },
    { method: 'CreateContainer', refused: expect.stringContaining('configmap "conf" not found') as string },
  ]);
});

test('a sandbox that could not be made is the end of it', async () => {
  const spec = { subdomain: 'x'.repeat(60), setHostnameAsFQDN: true };
  expect(methodsOf(await preview(makeStaticPod('web', { spec })))).toEqual([
    { method: 'RunPodSandbox', refused: expect.stringContaining('spec.setHostnameAsFQDN') as string },
  ]);
});

test('a user that only the image names is not taken for root', async () => {
  const securityContext = { runAsNonRoot: true };
  const { requests } = await preview(makeStaticPod('web', { spec: { containers: [{ ...main, securityContext }] } }));
  expect(JSON.stringify(printableRequest(requests.at(-1)))).toContain('"runAsUsername":"<user of the image>"');
});

test('the files that are made for a pod are shown, and not made', async () => {
  const folder = await temporaryFolder();
  const pod = makeStaticPod('web', { uid: 'u1', spec: { hostAliases: [{ ip: '192.0.2.9', hostnames: ['db'] }] } });
  const { files } = await preview(pod, folder);
  expect(files).toEqual([
    {
      path: `${folder}/root/pods/u1/etc-hosts`,
      content: [
        '# Kubernetes-managed hosts file.',
        '127.0.0.1\tlocalhost',
        '::1\tlocalhost ip6-localhost ip6-loopback',
        'fe00::0\tip6-localnet',
        'fe00::0\tip6-mcastprefix',
        'fe00::1\tip6-allnodes',
        'fe00::2\tip6-allrouters',
        '<pod IP>\tweb-edge1',
        '',
        '# Entries added by HostAliases.',
        '192.0.2.9\tdb',
        '',
      ].join('\n'),
    },
    { path: '<folder of the sandbox>/resolv.conf', content: 'nameserver 192.0.2.53\noptions ndots:5\n' },
  ]);
  expect(await readdir(folder)).toEqual([]);
});

test('messages are printed without what says nothing', () => {
  const message = { a: '', b: [], c: {}, d: undefined, e: 0n, f: false, g: Buffer.from('x'), h: { value: 0 }, i: [1n] };
  expect(printableRequest(message)).toEqual({ e: 0, f: false, g: 'x', h: { value: 0 }, i: [1] });
});
