import { expect, test } from 'vitest';
import { loadManifest } from '../../../src/engine/config/load-manifest.ts';
import { ownsPod } from '../../../src/engine/workloads/owns-pod.ts';

const template = '{spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}';
const specs = {
  Job: `{template: ${template}}`,
  CronJob: `{schedule: '@daily', jobTemplate: {spec: {template: ${template}}}}`,
  Deployment: `{replicas: 0, template: ${template.replace('restartPolicy: Never, ', '')}}`,
};

test.each<[keyof typeof specs, string[]]>([
  ['Job', ['pi', 'pi-0', 'pi-12']],
  ['CronJob', ['pi-29932410', 'pi-29932410-3', 'pi-run-t6hm4a']],
  ['Deployment', ['pi', 'pi-12']],
])('a %s owns pods of its name only', (kind, owned) => {
  const version = kind === 'Deployment' ? 'apps/v1' : 'batch/v1';
  const text = `apiVersion: ${version}\nkind: ${kind}\nmetadata: {name: pi}\nspec: ${specs[kind]}`;
  const { workloads = [] } = loadManifest(Buffer.from(text), '/pods/pi.yaml', { nodeName: 'edge1' });
  const owns = (namespace: string, name: string): boolean =>
    workloads.some((workload) => ownsPod(workload, { namespace, name: `${name}-edge1` }));
  expect(owned.filter((name) => !owns('default', name))).toEqual([]);
  expect(owned.filter((name) => owns('other', name))).toEqual([]);
  expect(['pi-db', 'pi2', 'api', 'pi-run', 'pi-0-x'].filter((name) => owns('default', name))).toEqual([]);
});
