import { expect, test } from 'vitest';
import { loadedManifests, podText } from '../../builders/loaded-manifests.ts';

const annotation = 'kubelet-ts.io/accept-warnings';

/** Objects with one warning each, by the field that the warning names. */
const warned: readonly (readonly [field: string, text: string])[] = [
  ['spec.replicas', deployment('replicas: 0')],
  ['spec.selector', deployment('selector: {matchLabels: {app: other}}')],
  ['specs', `${podText('web')}specs: {}\n`],
  ['spec.type', 'apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: LoadBalancer, ports: [{port: 1}]}\n'],
  ['kind', `apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n---\n${podText('web')}`],
];

function deployment(field: string): string {
  const spec = `spec:\n  ${field}\n  template:\n    metadata: {labels: {app: web}}\n`;
  const containers = '    spec: {containers: [{name: main, image: "app:1"}]}\n';
  return `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n${spec}${containers}`;
}

/** The text with the annotation in its first object. */
const accepting = (text: string, value: string): string =>
  text.replace('metadata: {name', `metadata: {annotations: {${annotation}: "${value}"}, name`);

const severities = (text: string): string[] =>
  loadedManifests(text).problems.map((problem) => problem.replace(/^\S+ (\w+) (\S+) .*$/s, '$1 $2'));

test.each(warned)('a warning about %s is a note once its object accepts it', (field, text) => {
  expect({
    before: severities(text),
    byName: severities(accepting(text, `spec.other, ${field}`)),
    all: severities(accepting(text, '*')),
    other: severities(accepting(text, 'spec.other')),
  }).toEqual({
    before: [`warning ${field}`],
    byName: [`note ${field}`],
    all: [`note ${field}`],
    other: [`warning ${field}`],
  });
});

test('the fields of an item of a List are its own', () => {
  const item = (name: string, more = ''): string =>
    `- apiVersion: v1\n  kind: Pod\n  metadata: {name: ${name}${more}}\n  specs: {}\n` +
    `  spec: {containers: [{name: main, image: "app:1"}]}\n`;
  const accepted = `, annotations: {${annotation}: specs}`;
  expect(severities(`apiVersion: v1\nkind: List\nitems:\n${item('a', accepted)}${item('b')}`)).toEqual([
    'note items[0].specs',
    'warning items[1].specs',
  ]);
});

test('an error stays an error', () => {
  const text = accepting(podText('web').replace('main', 'MAIN'), '*');
  expect(severities(text)).toEqual([expect.stringMatching(/^error /)]);
});
