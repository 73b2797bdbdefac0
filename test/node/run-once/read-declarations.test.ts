import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../../../src/node/options/node-options.ts';
import { readDeclarations } from '../../../src/node/run-once/read-declarations.ts';
import { podText } from '../../builders/loaded-manifests.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What a run of these manifests declares, and its warnings. */
async function declared({
  manifests = [],
  flags = [],
  isStrict = false,
}: {
  manifests?: string[];
  flags?: string[];
  isStrict?: boolean;
}) {
  const command = addNodeOptions(new Command('run-once')).parse(['--hostname-override', 'edge1', ...flags], {
    from: 'user',
  });
  const warnings: unknown[] = [];
  const updates = await readDeclarations({
    options: await nodeOptions(command.opts<NodeFlags>(), []),
    manifests,
    stdin: process.stdin,
    overrides: { env: new Map(), images: [] },
    isStrict,
    logger: { ...silentLogger, warn: (...entry: unknown[]) => warnings.push(...entry) },
  });
  return { pods: updates.flatMap(({ pods }) => pods), warnings };
}

async function fileOf(text: string): Promise<string> {
  const file = join(await temporaryFolder(), 'job.yaml');
  await writeFile(file, text);
  return file;
}

test('a broken manifest is refused by file, line and field', async () => {
  const file = await fileOf(podText('web').replace('image:', 'imagePullPolicy: Sometimes, image:'));
  await expect(declared({ manifests: [file] })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(
      new RegExp(`^broken manifest, nothing was started\n${file}:\\d+:\\d+: error: spec\\.containers\\[0\\]\\.`),
    ) as string,
    problems: [expect.objectContaining({ origin: file, field: 'spec.containers[0].imagePullPolicy' })],
  });
});

test('a misspelt field is a warning, and an error with --strict', async () => {
  const file = await fileOf(podText('web').replace('image:', 'comand: [false], image:'));
  const field = 'spec.containers[0].comand';
  const { pods, warnings } = await declared({ manifests: [file] });
  expect(pods).toHaveLength(1);
  expect(warnings).toEqual([expect.stringContaining(`warning: ${field}: Unknown field "comand" is ignored`)]);
  await expect(declared({ manifests: [file], isStrict: true })).rejects.toMatchObject({
    exitCode: 2,
    problems: [expect.objectContaining({ field, hint: 'Did you mean "command"?' })],
  });
});

test('the mirror of a static pod is refused, because its end would never come', async () => {
  const file = await fileOf(
    podText('web').replace('{name: web}', '{name: web, annotations: {kubernetes.io/config.mirror: x}}'),
  );
  await expect(declared({ manifests: [file] })).rejects.toMatchObject({
    exitCode: 2,
    message: 'pod default/web-edge1 is marked as the mirror of a static pod',
  });
});

test('a CronJob is one pod of its template, at once', async () => {
  const file = await fileOf(
    [
      'apiVersion: batch/v1',
      'kind: CronJob',
      'metadata: {name: job}',
      'spec:',
      "  schedule: '@yearly'",
      '  jobTemplate:',
      '    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}}',
    ].join('\n'),
  );
  const { pods, warnings } = await declared({ manifests: [file] });
  expect(pods.map(({ metadata, spec }) => [metadata.name, spec.restartPolicy])).toEqual([['job-edge1', 'Never']]);
  expect(warnings).toEqual([]);
});

test.each([
  [10, [], 10],
  [10, ['activeDeadlineSeconds: 20'], 10],
  [20, ['activeDeadlineSeconds: 10'], 10],
])(
  'the pods of a Job with a deadline of %i s have it, unless theirs is earlier: %j',
  async (ofJob, ofPod, expected) => {
    const spec = ['restartPolicy: Never', 'containers: [{name: main, image: app:1}]', ...ofPod].join(', ');
    const file = await fileOf(
      [
        'apiVersion: batch/v1',
        'kind: Job',
        'metadata: {name: job}',
        'spec:',
        `  activeDeadlineSeconds: ${ofJob}`,
        '  completions: 2',
        `  template: {spec: {${spec}}}`,
      ].join('\n'),
    );
    const { pods } = await declared({ manifests: [file] });
    expect(pods.map((pod) => pod.spec.activeDeadlineSeconds)).toEqual([expected, expected]);
  },
);

test('a URL that does not answer with manifests is refused by its answer', async () => {
  const server = await WebServer.start();
  server.answer = { status: 404 };
  await expect(declared({ flags: ['--manifest-url', server.url()] })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining(`${server.url()}: error: the server answered 404 (`) as string,
  });
});

test('a folder with a kustomization is built, another one is read', async () => {
  const [bin, folder] = [await temporaryFolder(), await temporaryFolder()];
  await writeFile(join(folder, 'web.yaml'), podText('web'));
  await writeFile(join(bin, 'kustomize'), `#!/bin/sh\n/bin/sed 's/name: web/name: built/' ${folder}/web.yaml\n`, {
    mode: 0o755,
  });
  vi.stubEnv('PATH', bin);
  const names = async () => (await declared({ manifests: [folder] })).pods.map(({ metadata }) => metadata.name);
  expect(await names()).toEqual(['web-edge1']);
  await writeFile(join(folder, 'kustomization.yaml'), 'resources: [web.yaml]');
  expect(await names()).toEqual(['built-edge1']);
});
