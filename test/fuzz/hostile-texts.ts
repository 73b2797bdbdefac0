const podHead = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';
const jsonHead = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}';

/** A piece again and again, up to a number of bytes; a function makes a piece of its number. */
function fill(bytes: number, piece: string | ((index: number) => string)): string {
  if (typeof piece === 'string') return piece.repeat(Math.ceil(bytes / Buffer.byteLength(piece)));
  const pieces: string[] = [];
  for (let length = 0; length < bytes;) length += pieces[pieces.push(piece(pieces.length)) - 1]?.length ?? 0;
  return pieces.join('');
}

function inPod(value: (bytes: number) => string): (bytes: number) => string {
  return (bytes) => `${podHead}spec: ${value(bytes)}\n`;
}

function inJson(value: (bytes: number) => string): (bytes: number) => string {
  return (bytes) => `${jsonHead},"spec":${value(bytes)}}`;
}

function list(item: string): (bytes: number) => string {
  return (bytes) => `[${fill(bytes, `${item},`)}${item}]`;
}

const jsonPod = (name: string): string =>
  `${jsonHead.replace('web', name)},"spec":{"containers":[{"name":"c","image":"i"}]}}`;
const yamlPod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;

/** Texts of about a number of bytes that ask for as much work as such a text can, by what is bad about them. */
export const hostileTexts: Readonly<Record<string, (bytes: number) => string>> = {
  'brackets that only open': (bytes) => fill(bytes, '['),
  'braces that only open': (bytes) => fill(bytes, '{'),
  'JSON braces that only open': (bytes) => fill(bytes, '{"a":'),
  'JSON brackets that only open': (bytes) => `{"a":${fill(bytes, '[')}`,
  'nested block mappings': (bytes) => fill(bytes, (depth) => `${' '.repeat(depth)}a:\n`),
  'nested block lists on one line': (bytes) => fill(bytes, '- '),
  'explicit keys': (bytes) => fill(bytes, '? '),
  'brackets that close again': inPod((bytes) => fill(bytes / 2, '[') + fill(bytes / 2, ']')),
  'one plain scalar': inPod((bytes) => fill(bytes, 'a')),
  'one plain scalar of words': inPod((bytes) => fill(bytes, 'word ')),
  'one plain scalar of lines': inPod((bytes) => fill(bytes, 'word\n  ')),
  'one plain scalar of empty lines': inPod((bytes) => `a${fill(bytes, '\n')}  b`),
  'one quoted scalar': inPod((bytes) => `"${fill(bytes, 'a')}"`),
  'one scalar in single quotes': inPod((bytes) => `'${fill(bytes, "''")}'`),
  'a quote that never ends': inPod((bytes) => `"${fill(bytes, 'a')}`),
  'quotes that never end': inPod((bytes) => fill(bytes, '"')),
  'single quotes on every line': inPod((bytes) => fill(bytes, "a: 'b\n")),
  escapes: inPod((bytes) => `"${fill(bytes, '\\u0041')}"`),
  'quoted continuation lines': inPod((bytes) => `"${fill(bytes, 'word\n')}"`),
  'quoted continuation lines, broken': inPod((bytes) => `{a: "${fill(bytes, 'word\n')}"]`),
  'quoted empty lines': inPod((bytes) => `"${fill(bytes, '\n')}"`),
  'quoted empty lines, broken': inPod((bytes) => `["${fill(bytes, '\n')}"`),
  'continuation lines of a long line': (bytes) => {
    const lines = Math.floor(Math.sqrt(bytes));
    return `${fill(lines, 'k')}: "${fill(bytes - lines, '\nx')}"`;
  },
  'bracketed continuation lines': inPod((bytes) => `[${fill(bytes, 'a,\n')}]`),
  'bracketed empty lines': inPod((bytes) => `[${fill(bytes, '\n')}]`),
  'backslashed line ends': inPod((bytes) => `"${fill(bytes, 'a\\\n')}"`),
  'block scalar': inPod((bytes) => `|\n${fill(bytes, '  a line of text\n')}`),
  'folded block scalar': inPod((bytes) => `>\n${fill(bytes, '  a\n\n    b\n')}`),
  'block scalar of empty lines': inPod((bytes) => `|\n${fill(bytes, '\n')}  a`),
  'block scalars': inPod((bytes) => `\n${fill(bytes, (index) => ` k${index}: |\n  a\n`)}`),
  keys: (bytes) => podHead + fill(bytes, (index) => `k${index}: 1\n`),
  'the same key': (bytes) => podHead + fill(bytes, 'k: 1\n'),
  'flow keys': inPod((bytes) => `{${fill(bytes, (index) => `k${index}: 1, `)}}`),
  'keys without values': inPod((bytes) => `{${fill(bytes, 'a,')}}`),
  items: inPod((bytes) => `\n${fill(bytes, '- a\n')}`),
  'flow items': inPod((bytes) => `[${fill(bytes, '1,')}]`),
  'empty items': inPod((bytes) => `\n${fill(bytes, '-\n')}`),
  'long keys': (bytes) => `${podHead}${fill(bytes, `${'k'.repeat(100_000)}: 1\n`)}`,
  'unknown fields deep down': inPod(
    (bytes) => `{containers: [${fill(bytes, '{name: c, image: i, imagePullPolice: Always},')}]}`,
  ),
  comments: (bytes) => podHead + fill(bytes, '# a\n'),
  'comments and empty lines': (bytes) => podHead + fill(bytes, '# a\n\n'),
  'comments inside brackets': inPod((bytes) => `[${fill(bytes, ' # a\n')}]`),
  'comments behind values': (bytes) => podHead + fill(bytes, (index) => `k${index}: 1 # a\n`),
  'one long comment': (bytes) => `${podHead}#${fill(bytes, ' x')}`,
  'empty lines': (bytes) => podHead + fill(bytes, '\n'),
  'carriage returns': (bytes) => podHead + fill(bytes, '\r'),
  'NEL line breaks': (bytes) => podHead + fill(bytes, '\u0085'),
  'quotes and NEL line breaks': (bytes) => podHead + fill(bytes, '"\u0085'),
  spaces: (bytes) => podHead + fill(bytes, ' '),
  'spaces before a brace': (bytes) => `${fill(bytes, ' ')}{`,
  'line breaks before a word': (bytes) => `${fill(bytes, '\n')}a`,
  tabs: (bytes) => podHead + fill(bytes, '\t'),
  'lines of spaces': (bytes) => podHead + fill(bytes, '  \n'),
  'spaces inside a plain scalar': inPod((bytes) => `a${fill(bytes, ' ')}b`),
  'spaces before colons': inPod((bytes) => fill(bytes, 'a      : ')),
  colons: inPod((bytes) => fill(bytes, ':')),
  'colons and spaces': inPod((bytes) => fill(bytes, ': ')),
  dashes: (bytes) => fill(bytes, '-'),
  commas: inPod((bytes) => `[${fill(bytes, ',')}]`),
  documents: (bytes) => fill(bytes, '---\na\n'),
  'documents of nothing': (bytes) => fill(bytes, '---\n'),
  'document ends': (bytes) => fill(bytes, '...\n'),
  'documents and ends': (bytes) => fill(bytes, '---\n...\n'),
  'documents of comments': (bytes) => fill(bytes, '# a\n---\n'),
  'documents of directives': (bytes) => fill(bytes, '%YAML 1.1\n---\na\n'),
  'comments before a document': (bytes) => `${fill(bytes, '# a\n')}---\n${podHead}`,
  directives: (bytes) => `${fill(bytes, (index) => `%TAG !${index}! x\n`)}---\n${podHead}`,
  'broken documents': (bytes) => fill(bytes, '---\n[\n'),
  'broken quotes in documents': (bytes) => fill(bytes, '---\n"\na'),
  pods: (bytes) => fill(bytes, (index) => `---\n${yamlPod(`p${index}`)}`),
  'the same pod': (bytes) => fill(bytes, `---\n${yamlPod('p')}`),
  'pods in a List': (bytes) =>
    `apiVersion: v1\nkind: List\nitems:\n${fill(bytes, (index) => `- ${yamlPod(`p${index}`).trimEnd().replaceAll('\n', '\n  ')}\n`)}`,
  'pods in a JSON List': (bytes) =>
    `{"apiVersion":"v1","kind":"List","items":[${fill(bytes, (index) => `${jsonPod(`p${index}`)},`)}${jsonPod('last')}]}`,
  'empty objects in a JSON List': (bytes) => `{"apiVersion":"v1","kind":"List","items":${list('{}')(bytes)}}`,
  'numbers in a JSON List': (bytes) => `{"apiVersion":"v1","kind":"List","items":${list('1')(bytes)}}`,
  'Lists in Lists': (bytes) => fill(bytes, '{"apiVersion":"v1","kind":"List","items":['),
  'unknown kinds in a JSON List': (bytes) =>
    `{"apiVersion":"v1","kind":"List","items":${list('{"apiVersion":"v1","kind":"Pot"}')(bytes)}}`,
  'fields of a JSON List': (bytes) =>
    `{"apiVersion":"v1","kind":"List",${fill(bytes, (index) => `"k${index}":1,`)}"items":[]}`,
  'ConfigMap keys': (bytes) =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{${fill(bytes, (index) => `"k${index}":"v",`)}"k":"v"}}`,
  'wrong ConfigMap keys': (bytes) =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{${fill(bytes, (index) => `"k/${index}":"v",`)}"k":"v"}}`,
  'a large Secret': (bytes) =>
    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"${fill(bytes, 'QUFB')}"}}`,
  'a Secret that is no base64': (bytes) =>
    `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"${fill(bytes, 'QUFB')}="}}`,
  'an anchor bomb': inPod((bytes) => {
    const levels = Array.from({ length: 9 }, (_, level) =>
      level === 0 ? ` l0: &l0 [${fill(bytes, 'a,')}]` : ` l${level}: &l${level} [${`*l${level - 1},`.repeat(9)}]`,
    );
    return `\n${levels.join('\n')}`;
  }),
  aliases: inPod((bytes) => `\n a: &a [b]\n c: [${fill(bytes, '*a,')}]`),
  'aliases of a scalar': inPod((bytes) => `\n a: &a b\n c: [${fill(bytes, '*a,')}]`),
  'aliases of a large value': inPod(
    (bytes) => `\n containers: &a [${fill(bytes / 2, '{name: c},')}]\n initContainers: *a\n volumes: *a\n`,
  ),
  anchors: inPod((bytes) => `[${fill(bytes, (index) => `&a${index} b,`)}]`),
  'the same anchor': inPod((bytes) => `[${fill(bytes, '&a b,')}]`),
  'nested anchors': inPod((bytes) => fill(bytes, (index) => `&a${index} [`)),
  'merge keys': inPod((bytes) => `\n a: &a {b: 1, c: 2}\n d:\n${fill(bytes, '  <<: *a\n')}`),
  'merges of many keys': inPod((bytes) => {
    const keys = Math.floor(Math.sqrt(bytes));
    return `\n a: &a {${fill(keys, (index) => `k${index}: 1,`)}}\n d:\n${fill(bytes - keys, '  - {<<: *a}\n')}`;
  }),
  'a list of merges': inPod((bytes) => `\n a: &a {b: 1}\n d: {<<: [${fill(bytes, '*a,')}]}`),
  tags: inPod((bytes) => `[${fill(bytes, '!!str a,')}]`),
  'a long tag': inPod((bytes) => `!${fill(bytes, 'a')} b`),
  'escapes in a tag': inPod((bytes) => `!!${fill(bytes, '%41')} b`),
  'a long anchor': inPod((bytes) => `&${fill(bytes, 'a')} b`),
  'a long alias': inPod((bytes) => `*${fill(bytes, 'a')}`),
  binary: inPod((bytes) => `!!binary ${fill(bytes, 'QUFB')}`),
  'a long number': inPod((bytes) => fill(bytes, '9')),
  'a long number with underscores': inPod((bytes) => fill(bytes, '9_')),
  'a long hexadecimal number': inPod((bytes) => `0x${fill(bytes, 'f')}`),
  'a long sexagesimal number': inPod((bytes) => fill(bytes, '1:')),
  'a long fraction': inPod((bytes) => `0.${fill(bytes, '0')}1`),
  'nearly a time': inPod((bytes) => `2001-01-01${fill(bytes, ' ')}x`),
  'numbers with exponents': inPod((bytes) => `[${fill(bytes, '1e999,')}]`),
  'JSON numbers': inJson(list('1')),
  'JSON nulls': inJson(list('null')),
  'JSON lists': inJson(list('[]')),
  'JSON objects': inJson(list('{}')),
  'JSON keys': inJson((bytes) => `{${fill(bytes, (index) => `"k${index}":1,`)}"k":1}`),
  'the same JSON key': inJson((bytes) => `{${fill(bytes, '"k":1,')}"k":1}`),
  'the same JSON field': inJson((bytes) => `{${fill(bytes, '"containers":[{"name":"a"}],')}"k":1}`),
  'the same long JSON field': inJson((bytes) => {
    const field = `"containers":[${fill(Math.sqrt(bytes), '{},')}{}],`;
    return `{${fill(bytes, field)}"k":1}`;
  }),
  'the same JSON map': (bytes) => {
    const labels = `"labels":{${fill(Math.sqrt(bytes), (index) => `"a${index}":"",`)}"a":""},`;
    let number = 0;
    return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",${fill(bytes, () => labels.replaceAll('"a', `"a${number++}-`))}"uid":""}}`;
  },
  'a JSON string': inJson((bytes) => `"${fill(bytes, 'a')}"`),
  'JSON escapes': inJson((bytes) => `"${fill(bytes, '\\n')}"`),
  'JSON lone surrogates': inJson((bytes) => `"${fill(bytes, '\\ud800')}"`),
  'a JSON number': inJson((bytes) => fill(bytes, '9')),
  'a JSON string that never ends': inJson((bytes) => `"${fill(bytes, 'a')}`),
  'JSON white space': inJson((bytes) => `[${fill(bytes, ' ')}]`),
  'JSON wrong types': inJson((bytes) => `{"containers":${list('{"name":1,"image":2,"command":3}')(bytes)}}`),
  'JSON wrong environment': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i","env":${list('{"name":"","value":"a"}')(bytes)}}]}`,
  ),
  'JSON environment': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i","env":${list('{"name":"A","value":"$(A)"}')(bytes)}}]}`,
  ),
  'JSON containers of one name': inJson((bytes) => `{"containers":${list('{"name":"c","image":"i"}')(bytes)}}`),
  'JSON containers': inJson(
    (bytes) =>
      `{"containers":[${fill(bytes, (index) => `{"name":"c${index}","image":"i"},`)}{"name":"c","image":"i"}]}`,
  ),
  'JSON ports': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i","ports":${list('{"containerPort":80,"hostPort":80}')(bytes)}}]}`,
  ),
  'JSON volumes': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"volumes":[${fill(bytes, (index) => `{"name":"v${index}","emptyDir":{}},`)}{"name":"v","emptyDir":{}}]}`,
  ),
  'JSON volumes of one name': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i"}],"volumes":${list('{"name":"v","emptyDir":{}}')(bytes)}}`,
  ),
  'JSON mounts': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i","volumeMounts":[${fill(bytes, (index) => `{"name":"v","mountPath":"/a${index}"},`)}{"name":"v","mountPath":"/a"}]}],"volumes":[{"name":"v","emptyDir":{}}]}`,
  ),
  'JSON projected items': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"a","items":[${fill(bytes, (index) => `{"key":"k","path":"p${index}"},`)}{"key":"k","path":"p"}]}}]}}]}`,
  ),
  'JSON tolerations': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"tolerations":${list('{"operator":"Exists","key":"a"}')(bytes)}}`,
  ),
  'JSON host aliases': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"hostAliases":${list('{"ip":"1.1.1.1","hostnames":["a"]}')(bytes)}}`,
  ),
  'JSON sysctls': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"securityContext":{"sysctls":${list('{"name":"a","value":"1"}')(bytes)}}}`,
  ),
  'JSON readiness gates': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i"}],"readinessGates":${list('{"conditionType":"a"}')(bytes)}}`,
  ),
  'JSON scheduling gates': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"schedulingGates":[${fill(bytes, (index) => `{"name":"a${index}"},`)}{"name":"b"}]}`,
  ),
  'JSON spread constraints': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"topologySpreadConstraints":[${fill(bytes, (index) => `{"maxSkew":1,"topologyKey":"k${index}","whenUnsatisfiable":"DoNotSchedule"},`)}{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule"}]}`,
  ),
  'JSON resource claims': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i"}],"resourceClaims":[${fill(bytes, (index) => `{"name":"a${index}","resourceClaimName":"x"},`)}{"name":"b","resourceClaimName":"x"}]}`,
  ),
  'JSON command': inJson((bytes) => `{"containers":[{"name":"c","image":"i","command":${list('"a"')(bytes)}}]}`),
  'JSON annotations': (bytes) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":{${fill(bytes, (index) => `"a${index}":"",`)}"a":""}},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
  'JSON labels': (bytes) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{${fill(bytes, (index) => `"a${index}":"",`)}"a":""}},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
  'JSON limits': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i","resources":{"limits":{${fill(bytes, (index) => `"a/${index}":"1",`)}"cpu":"1"}}}]}`,
  ),
  'long quantities': inJson(
    (bytes) => `{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"${fill(bytes, '9')}"}}}]}`,
  ),
  'quantities of 1000 digits': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i","resources":{"limits":{${fill(bytes, (index) => `"a/${index}":"${'9'.repeat(990)}E",`)}"cpu":"1"}}}]}`,
  ),
  'a long duration': (bytes) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","creationTimestamp":"${fill(bytes, '1')}"}}`,
  'a long pod name': (bytes) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${fill(bytes, 'a-')}"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
  'a long image name': inJson((bytes) => `{"containers":[{"name":"c","image":"${fill(bytes, 'a/')}"}]}`),
  'a long mount path': inJson(
    (bytes) =>
      `{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"${fill(bytes, '/..')}","subPath":"${fill(bytes / 2, '../')}"}]}]}`,
  ),
  'a template': (bytes) => fill(bytes, '{{ .Values.a }}\n'),
  'blank lines around what is not YAML': (bytes) => `${fill(bytes, '   \n')}}\n`,
  'a merge conflict': (bytes) => fill(bytes, '<<<<<<< HEAD\n'),
  'control characters': (bytes) => fill(bytes, '\u0001'),
  zeros: (bytes) => fill(bytes, '\0'),
  'surrogates of UTF-16': (bytes) => fill(bytes, '\ud83d\ude80'),
  'bytes that are no UTF-8': (bytes) => fill(bytes, '\ufffd'),
};
