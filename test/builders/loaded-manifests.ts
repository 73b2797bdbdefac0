import { loadManifests } from '../../src/api/objects/load-manifests.ts';
import { configObjectKey } from '../../src/api/values/config-object.ts';
import type { StaticPodOptions } from '../../src/api/objects/static-pod.ts';
import { podUIDHash } from '../../src/engine/config/load-manifest.ts';

export const loadOptions: StaticPodOptions = {
  nodeName: 'edge1',
  source: 'file',
  origin: '/manifests/all.yaml',
  hash: podUIDHash,
};

/**
 * Returns what a text declares, as lines: pods and objects by name, problems as `line:column severity field message`.
 */
export function loadedManifests(
  text: string,
  options: Partial<StaticPodOptions> = {},
): { pods: string[]; configObjects: string[]; problems: string[] } {
  const { pods, configObjects, problems } = loadManifests(text, { ...loadOptions, ...options });
  return {
    pods: pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    configObjects: configObjects.map((object) => configObjectKey(object).replace('/', ' ')),
    problems: problems.map(({ line, column, severity, field, message }) =>
      [
        ...(line === undefined ? [] : [`${line}:${column}`]),
        severity,
        ...(field === undefined ? [] : [field]),
        message,
      ].join(' '),
    ),
  };
}

/** A good pod in four lines. */
export function podText(name: string): string {
  return [
    'apiVersion: v1',
    'kind: Pod',
    `metadata: {name: ${name}}`,
    'spec: {containers: [{name: main, image: app:1}]}',
    '',
  ].join('\n');
}
