import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectedNode } from '../../../src/node/doctor/inspected-node.ts';
import { nodeOptions } from '../../../src/node/options/node-options.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('with a wrong configuration the node has the defaults, at its place', async () => {
  const folder = await temporaryFolder();
  const config = join(folder, 'kubelet.yaml');
  await writeFile(
    config,
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: many\nreadOnlyPort: 1\n',
  );
  const place = { rootDir: join(folder, 'root'), podManifestPath: [join(folder, 'manifests')] };
  const { options, configurationError } = await inspectedNode({ ...place, config }, []);
  const defaults = await nodeOptions(place, []);
  expect({
    message: configurationError?.message.split(': error: ')[0],
    ports: [options.readOnlyPort, options.healthzPort],
    place: [options.rootDir, options.manifestPaths],
  }).toEqual({
    message: `the configuration is invalid\n${config}:3:10`,
    ports: [defaults.readOnlyPort, defaults.healthzPort],
    place: [place.rootDir, defaults.manifestPaths],
  });
});

test('a URL in the place of a path is a finding, and the other manifests are examined', async () => {
  const rootDir = await temporaryFolder();
  const url = 'https://box.example/pod.yaml';
  const { options, configurationError } = await inspectedNode({ rootDir, podManifestPath: [url, '/a'] }, [url, '/b']);
  expect({ message: configurationError?.message, paths: options.manifestPaths }).toEqual({
    message: 'a URL is neither a file nor a folder',
    paths: ['/b', '/a'],
  });
});
