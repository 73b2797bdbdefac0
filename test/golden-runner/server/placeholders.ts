/** What may stand in the place of a placeholder whose value is not known. */
const patterns: Readonly<Record<string, string>> = {
  '{n}': String.raw`\d+`,
  '{time}': String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)`,
  '{httpTime}': String.raw`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`,
  '{date}': String.raw`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \w+ \d{4}`,
  '{sep}': '(?::|: |=| )',
  '{goVersion}': '.+?',
  '{version}': '.+?',
  '{rand}': String.raw`\w+`,
  '{runtimePort}': String.raw`\d+`,
  '{imageID}': '.+?',
  '{cgroupRoot}': '.*',
};

/** Values of the placeholders that are known, such as `{uid:web-edge1}`. */
export type Known = ReadonlyMap<string, string>;

/** The text with the values of known placeholders. */
export const withKnown = (text: string, known: Known): string =>
  text.replace(/\{[^{}\s"]+\}/g, (placeholder) => known.get(placeholder) ?? placeholder);

/** Returns the recorded value itself if ours is one that it stands for, else ours. Goes into lists and objects. */
export function alike(recorded: unknown, ours: unknown, known: Known): unknown {
  if (typeof recorded === 'string' && typeof ours === 'string') {
    return patternOf(withKnown(recorded, known)).test(ours) ? recorded : ours;
  }
  if (recorded === '{n}' && typeof ours === 'number') return recorded;
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    return ours.map((one: unknown, index) => alike(recorded[index], one, known));
  }
  if (!isObject(recorded) || !isObject(ours)) return ours;
  return Object.fromEntries(Object.entries(ours).map(([key, value]) => [key, alike(recorded[key], value, known)]));
}

const patternOf = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split(/(\{\w+\})/)
      .map((part) => patterns[part] ?? escaped(part))
      .join('')}$`,
    's',
  );

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
