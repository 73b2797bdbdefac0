import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions, podText } from '../../builders/loaded-manifests.ts';
import { loadPod } from '../../builders/load-pod.ts';

const nothing = { pods: [], configObjects: [], problems: [] };

describe('one single pod', () => {
  test.each([
    ['a good pod', podText('web')],
    ['a pod with warnings', `${podText('web')}specs: {}\n`],
    ['a repeated key', `${podText('web')}kind: Pod\n`],
    ['a broken pod', podText('Web').replace('main', 'MAIN')],
    ['a pod without a name', podText('""')],
    ['a wrong type', podText('web').replace('app:1', '5')],
    ['another version', podText('web').replace('v1', 'v2')],
    ['a pod without an apiVersion', podText('web').replace('apiVersion: v1\n', '')],
    ['a pod whose kind is a number', podText('web').replace('kind: Pod', 'kind: 5')],
    ['a pod in another case', podText('web').replace('kind', 'Kind')],
    ['broken YAML', `${podText('web')}}`],
    ['a comment, a marker and a pod', `# web\n---\n${podText('web')}...\n`],
    [
      'JSON',
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
    ],
    ['broken JSON', '{"apiVersion":"v1","kind":"Pod",}'],
    ['two JSON objects', '{"apiVersion":"v1","kind":"Pod"} {}'],
  ])('of %s is what loadPod makes of it', (_what, text) => {
    const { pod, problems } = loadPod(text, loadOptions);
    expect(loadManifests(text, loadOptions)).toEqual({
      pods: pod ? [pod] : [],
      configObjects: [],
      problems,
      ...(pod && { derivedUIDs: [pod.metadata.uid] }),
    });
  });
});

test('only UIDs that no manifest sets are derived', () => {
  const named = podText('b').replace('metadata: {', 'metadata: {uid: own, ');
  const { pods, derivedUIDs } = loadManifests([podText('a'), named].join('---\n'), loadOptions);
  expect(derivedUIDs).toEqual([pods[0]?.metadata.uid]);
  const withEmpty = loadManifests(podText('a').replace('name: a', 'name: a, uid: ""'), loadOptions);
  expect(withEmpty.derivedUIDs).toEqual([withEmpty.pods[0]?.metadata.uid]);
  expect(pods[1]?.metadata.uid).toBe('own');
});

test('the pods of a text are those that loadPod makes of each document', () => {
  const texts = [podText('a'), podText('b')];
  expect(loadManifests(texts.join('---\n'), loadOptions).pods).toEqual(
    texts.map((text) => loadPod(text, loadOptions).pod),
  );
});

describe('documents', () => {
  test.each([
    ['are read one by one', `${podText('a')}---\n${podText('b')}`, { pods: ['default/a-edge1', 'default/b-edge1'] }],
    [
      'may be empty',
      `---\n---\n# nothing\n---\n${podText('a')}---\n\n---\nnull\n---\n~\n---`,
      { pods: ['default/a-edge1'] },
    ],
    [
      'may end with dots',
      `${podText('a')}...\n---\n${podText('b')}...\n`,
      { pods: ['default/a-edge1', 'default/b-edge1'] },
    ],
    [
      'have lines of their file',
      `${podText('a')}---\n${podText('b').replace('app:1', '5')}`,
      {
        pods: ['default/a-edge1'],
        problems: ['9:41 error spec.containers[0].image Expected a string, found the number 5'],
      },
    ],
    [
      'keep the other lines when the line breaks are of Windows',
      `${podText('a')}---\n${podText('B')}`.replaceAll('\n', '\r\n'),
      {
        pods: ['default/a-edge1'],
        problems: [
          '8:18 error metadata.name Invalid value: "B": must consist of lower case letters, digits, "-" and ".", and each part start and end with a letter or digit',
        ],
      },
    ],
    [
      'stand although another is broken',
      `${podText('a')}---\nkind: [\n---\n${podText('b')}`,
      { pods: ['default/a-edge1', 'default/b-edge1'], problems: ['7:1 error "]" is missing'] },
    ],
    [
      'may be JSON after a marker',
      `---\n{"apiVersion": "v1", "kind": "List", "items": []}\n---\n${podText('a')}`,
      { pods: ['default/a-edge1'] },
    ],
    [
      'do not end in quotes and block texts',
      [
        'apiVersion: v1',
        'kind: ConfigMap',
        'metadata: {name: docs}',
        'data:',
        '  a: |',
        '    ---',
        '    kind: Pod',
        '  b: " ---',
        '    ..."',
      ].join('\n'),
      { configObjects: ['ConfigMap default/docs'] },
    ],
    [
      'have anchors of their own',
      `${podText('a')}x: &anchor 1\n---\nkind: *anchor\n`,
      {
        pods: ['default/a-edge1'],
        problems: ['5:1 warning x Unknown field "x" is ignored', '7:7 error The anchor is not defined above'],
      },
    ],
  ])('%s', (_what, text, expected) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, ...expected });
  });
});

test.each([
  ['*hunter2', 'The anchor is not defined above'],
  ['&hunter2 [*hunter2]', 'The anchor contains itself'],
  ['|hunter2', 'Block scalar header includes extra characters'],
  [String.raw`"\uhunter2"`, 'Invalid escape sequence'],
  ['!hunter2!', 'The tag is not known'],
  ['!hunter2!x', 'The tag is not known'],
  ['!x!hunter2', 'The tag is not known'],
  ['!<hunter2%zz', 'The tag is not known'],
])('an error of syntax quotes no part of the value %s, because it may be a secret', (value, message) => {
  const text = `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  key: ${value}\n`;
  const { problems } = loadManifests(text, loadOptions);
  expect(problems.map((problem) => problem.message)).toEqual([message]);
});

const item = (kind: string, name: string): string =>
  `- {apiVersion: v1, kind: ${kind}, metadata: {name: ${name}}, spec: {containers: [{name: main, image: app:1}]}}`;
const typeless = (name: string): string =>
  `- {metadata: {name: ${name}}, spec: {containers: [{name: main, image: app:1}]}}`;

function list(kind: string, ...items: string[]): string {
  return [`apiVersion: v1`, `kind: ${kind}`, items.length === 0 ? 'items: []' : 'items:', ...items, ''].join('\n');
}

describe('lists', () => {
  test.each([
    [
      'hold objects of any kind',
      list('List', item('Pod', 'a'), '- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}', item('Pod', 'c')),
      { pods: ['default/a-edge1', 'default/c-edge1'], configObjects: ['ConfigMap default/b'] },
    ],
    [
      'hold lists',
      list('List', `- {apiVersion: v1, kind: PodList, items: [${typeless('a').slice(2)}]}`),
      { pods: ['default/a-edge1'] },
    ],
    [
      'of pods hold pods that do not say so',
      list('PodList', typeless('a'), item('Pod', 'b')),
      { pods: ['default/a-edge1', 'default/b-edge1'] },
    ],
    [
      'of ConfigMaps hold ConfigMaps',
      list('ConfigMapList', '- {metadata: {name: a}}'),
      { configObjects: ['ConfigMap default/a'] },
    ],
    ['of Secrets hold Secrets', list('SecretList', '- {metadata: {name: a}}'), { configObjects: ['Secret default/a'] }],
    [
      'of Deployments hold Deployments',
      [
        'apiVersion: apps/v1',
        'kind: DeploymentList',
        'items: [{metadata: {name: a}, spec: {template: {spec: {containers: [{name: main, image: app:1}]}}}}]',
      ].join('\n'),
      { pods: ['default/a-edge1'] },
    ],
    [
      'in JSON',
      '{"apiVersion": "v1", "kind": "PodList",\n "items": [{"metadata": {"name": "a"}}]}',
      { problems: ['2:12 error items[0].spec.containers Required value: must have at least one'] },
    ],
    [
      'tell the place of an item',
      list('List', item('Pod', 'a'), typeless('b'), item('Pod', 'c').replace('app:1', '""')),
      {
        pods: ['default/a-edge1'],
        problems: [
          '5:3 error items[1].apiVersion apiVersion is missing',
          '6:92 error items[2].spec.containers[0].image Required value: must be set',
        ],
      },
    ],
    [
      'tell the place in lists of lists',
      list('List', '- apiVersion: v1', '  kind: List', '  items:', '  - 5'),
      { problems: ['7:5 error items[0].items[0] Expected an object, found a number'] },
    ],
    [
      'of pods hold nothing else',
      list('PodList', item('Secret', 'a')),
      { problems: ['4:26 error items[0].kind A PodList cannot hold a Secret of v1'] },
    ],
    ['may be empty: they say that nothing is to run', list('PodList'), {}],
    [
      'do not say that nothing is to run with a null',
      '{"apiVersion":"v1","kind":"List","metadata":{},"items":null}',
      { problems: ['1:48 error items Expected a list, found null'] },
    ],
    [
      'of pods do not say so either',
      '{"apiVersion":"v1","kind":"PodList","items":null}',
      { problems: ['1:37 error items Expected a list, found null'] },
    ],
    [
      'in a list do not say so either',
      list('List', '- {apiVersion: v1, kind: List, items: ~}'),
      { problems: ['4:32 error items[0].items Expected a list, found null'] },
    ],
    [
      'do not say so with no value',
      'apiVersion: v1\nkind: DeploymentList\nitems:\n'.replace('v1', 'apps/v1'),
      { problems: ['3:1 error items Expected a list, found null'] },
    ],
    [
      'have their items once',
      '{"apiVersion":"v1","kind":"List","items":[{}],"items":[]}',
      { problems: ['1:47 error items items is written more than once'] },
    ],
    [
      'of values say nothing about pods',
      'apiVersion: v1\nkind: ConfigMapList\nitems: []\n',
      { problems: ['error The text declares nothing'] },
    ],
    ['that are empty stand beside other objects', `${list('List')}---\n${podText('a')}`, { pods: ['default/a-edge1'] }],
    ['need items', 'apiVersion: v1\nkind: List\n', { problems: ['1:1 error items items is missing'] }],
    [
      'need items that are a list',
      'apiVersion: v1\nkind: PodList\nitems: {}\n',
      { problems: ['3:1 error items Expected a list, found an object'] },
    ],
    [
      'have no other fields',
      'apiVersion: v1\nkind: List\nmetadata: {}\nspec: {}\nitems: []\n',
      { problems: ['4:1 warning spec Unknown field "spec" is ignored'] },
    ],
    [
      'have one version',
      'apiVersion: v2\nkind: List\nitems: []\n',
      { problems: ['1:13 error apiVersion apiVersion "v2" is not supported'] },
    ],
    [
      'of pods have one version',
      'apiVersion: v2\nkind: PodList\nitems: []\n',
      { problems: ['1:13 error apiVersion apiVersion "v2" is not supported'] },
    ],
    [
      'of what is not carried out say nothing about pods',
      'apiVersion: v1\nkind: ServiceList\nitems: []\n',
      { problems: ['error The text declares nothing'] },
    ],
  ])('%s', (_what, text, expected) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, ...expected });
  });
});

const ingress = 'apiVersion: networking.k8s.io/v1\nkind: Ingress\n';

describe('kinds', () => {
  test.each([
    [
      'that are not carried out are a warning beside others',
      `${ingress}---\n${podText('a')}`,
      {
        pods: ['default/a-edge1'],
        problems: [
          '2:7 warning kind kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
        ],
      },
    ],
    [
      'that are not carried out are an error alone',
      ingress,
      {
        problems: [
          '2:7 error kind kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
        ],
      },
    ],
    [
      'that are not carried out are a warning beside an empty list',
      `${list('List')}---\n${ingress}`,
      {
        problems: [
          '6:7 warning kind kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
        ],
      },
    ],
    [
      'that nothing misses are a note, also alone',
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
      { problems: ['2:7 note kind kind "Namespace" is not supported: a namespace is there as soon as a pod names it'] },
    ],
    [
      'that nothing misses stand for the whole text',
      `apiVersion: v1\nkind: ServiceAccount\n---\n${ingress}`,
      {
        problems: [
          '2:7 note kind kind "ServiceAccount" is not supported: there is no API server to guard',
          '5:7 warning kind kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
        ],
      },
    ],
    [
      'of older versions are the same',
      'apiVersion: extensions/v1beta1\nkind: Ingress\n',
      {
        problems: [
          '2:7 error kind kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
        ],
      },
    ],
    [
      'of other tools are known',
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n',
      { problems: ['2:7 error kind kind "KubeletConfiguration" is not supported: it belongs to --config'] },
    ],
    [
      'of custom resources',
      'apiVersion: cert-manager.io/v1\nkind: Certificate\n',
      {
        problems: [
          '2:7 error kind kind "Certificate" is not supported: custom resources need an API server and a controller',
        ],
      },
    ],
    [
      'of custom resources with a known name',
      'apiVersion: serving.knative.dev/v1\nkind: Deployment\n',
      {
        problems: [
          '2:7 error kind kind "Deployment" is not supported: custom resources need an API server and a controller',
        ],
      },
    ],
    ['nobody knows', 'apiVersion: v1\nkind: Potato\n', { problems: ['2:7 error kind kind "Potato" is not known'] }],
    [
      'nobody knows, in a long list of lists',
      `apiVersion: v1\nkind: ${'List'.repeat(20)}\n`,
      { problems: [`2:7 error kind kind "${'List'.repeat(19)}" is not known`] },
    ],
    [
      'of another version',
      'apiVersion: extensions/v1beta1\nkind: Deployment\n',
      { problems: ['1:13 error apiVersion apiVersion "extensions/v1beta1" is not supported'] },
    ],
    ['without a version', 'kind: Deployment\n', { problems: ['1:1 error apiVersion apiVersion is missing'] }],
  ])('%s', (_what, text, expected) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, ...expected });
  });

  test.each([
    ['kind: pod\napiVersion: v1', 'Did you mean "Pod"?'],
    ['kind: Deploymnt\napiVersion: apps/v1', 'Did you mean "Deployment"?'],
    ['kind: Potato\napiVersion: v1', 'Check its spelling.'],
    ['kind: Deployment\napiVersion: v1', 'Write "apiVersion: apps/v1".'],
    ['kind: CronJob', 'Write "apiVersion: batch/v1".'],
    ['- kind: Pod', 'Put "---" between objects, or make them the items of a List.'],
    ['kind: List\napiVersion: v1', 'Write "items: []" for a list that declares nothing.'],
    ['kind: PodList\napiVersion: v1\nitems:', 'Write "items: []" for a list that declares nothing.'],
    ['kind: PodList\napiVersion: v1\nitems: {}', 'Start each item with "- ".'],
    ['kind: PodList\napiVersion: v1\nitem: []', 'Did you mean "items"?'],
    ['', 'Write "apiVersion: v1", "kind: List" and "items: []" when nothing is to run.'],
    ['image: {{ .Values.image }}', 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.'],
    ['{{- if .Values.web }}', 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.'],
    ['<<<<<<< HEAD\nkind: Pod\n=======', 'Remove the marks of a merge conflict.'],
    ['name: @web', 'Put the whole value in quotes.'],
    ['name: "web', 'Close the quote. Indent its other lines more than the key before it.'],
    ['a: [b', 'Close the bracket. Indent the lines inside it more than the key before it.'],
    ['a: "\\d"', "Inside double quotes write \\\\ for a backslash and ' for a single quote, or use single quotes."],
    ['a: !x!secret b', 'Remove the tag, or quote the value.'],
    ['%FOO\n---\na: b', 'Remove this line.'],
    ['%YAML 1.2\n---\na: b', 'Remove the %YAML line.'],
    ['{{ if .x }}\na: b\n', 'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.'],
    ['a:\n\tb: c', 'Indent with spaces; YAML allows no tabs there.'],
  ])('what to do about\n%s', (text, hint) => {
    expect(loadManifests(text, loadOptions).problems[0]?.hint).toBe(hint);
  });
});

test.each([
  ['apiVersion: v1\nKind: Pod\n', ['2:1 warning Kind "Kind" is read as "kind"']],
  ['apiversion: v1\nkind: Pod\n', ['1:1 warning apiversion "apiversion" is read as "apiVersion"']],
  ['apiVersion: v1\nkind: Pod\nKind: Job\n', ['3:1 warning Kind Unknown field "Kind" is ignored']],
  ['apiVersion: v1\nkind: Pod\nMetadata: {}\n', ['3:1 warning Metadata Unknown field "Metadata" is ignored']],
])('the type of an object is read in any case:\n%s', (type, problems) => {
  const spec = 'metadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n';
  expect(loadedManifests(`${type}${spec}`)).toEqual({ ...nothing, pods: ['default/web-edge1'], problems });
});

test.each([
  ['a quote without an end', 'a: 1\nb: {c: "d}\ne: 2\n', '2:8 error The quote that begins here has no end'],
  [
    'a quote without an end over less indented lines',
    "a:\n  b: 'c\nd: 2\n",
    '2:6 error The quote that begins here has no end',
  ],
  ['a key of two lines in quotes', '"a\nb": c\n', '1:1 error A key must stand on one line'],
  [
    'a key below a value',
    'a:\n  name: x\n   labels: {}\n',
    '3:4 error This key is indented more than the key above it',
  ],
  [
    'a key below two lines of a value',
    'a: 1\n  b\n  c: d\n',
    '3:3 error This key is indented more than the key above it',
  ],
  ['a key in the value of a key', 'a: b: c\n', '1:4 error A mapping cannot start on the line of its key'],
])('the place of %s is where it begins', (_what, text, problem) => {
  expect(loadedManifests(text).problems).toEqual([problem]);
});

describe('a text that declares nothing', () => {
  test.each(['', '\n', '# nothing\n', '---\n', '---\n---\n...\n', 'null\n', '\uFEFF'])('such as %j is bad', (text) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, problems: ['error The text declares nothing'] });
  });
});

describe('what is declared twice', () => {
  const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
`;
  test.each([
    [
      'two pods',
      `${podText('a')}---\n${podText('a')}`,
      {
        pods: ['default/a-edge1'],
        problems: ['8:18 error metadata.name Pod default/a-edge1 is declared on line 3 already'],
      },
    ],
    [
      'a pod and a Deployment',
      `${podText('a')}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: c, image: i}]}}}\n`,
      {
        pods: ['default/a-edge1'],
        problems: ['8:18 error metadata.name Pod default/a-edge1 is declared on line 3 already'],
      },
    ],
    [
      'two CronJobs',
      `${cronJob}---\n${cronJob}`,
      { problems: ['8:18 error metadata.name CronJob default/a is declared on line 3 already'] },
    ],
    [
      'two ConfigMaps',
      list('ConfigMapList', '- {metadata: {name: a}}', '- {metadata: {name: a, namespace: default}}'),
      {
        configObjects: ['ConfigMap default/a'],
        problems: ['5:21 error items[1].metadata.name ConfigMap default/a is declared on line 4 already'],
      },
    ],
    [
      'two pods with one uid',
      `${podText('a, uid: u')}---\n${podText('b, uid: u')}`,
      { pods: ['default/a-edge1'], problems: ['8:26 error metadata.uid uid u is declared on line 3 already'] },
    ],
    [
      'one name in two namespaces',
      list('ConfigMapList', '- {metadata: {name: a}}', '- {metadata: {name: a, namespace: b}}'),
      { configObjects: ['ConfigMap default/a', 'ConfigMap b/a'] },
    ],
    [
      'one name of two kinds',
      `${podText('a')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n`,
      { pods: ['default/a-edge1'], configObjects: ['Secret default/a'] },
    ],
  ])('%s', (_what, text, expected) => {
    expect(loadedManifests(text)).toEqual({ ...nothing, ...expected });
  });
});
