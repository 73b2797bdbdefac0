import type { CST } from 'yaml';
import { ManifestSyntaxError } from './manifest-node.ts';
import { excerpt } from './manifest-problem.ts';

/** The tag handles of a document: `!!`, and those of its %TAG directives. */
export class YamlTags {
  readonly #prefixes = new Map([['!!', 'tag:yaml.org,2002:']]);

  /** Reads the directives of a document. Throws a ManifestSyntaxError for those that the kubelet refuses. */
  constructor(directives: readonly CST.Directive[]) {
    for (const { offset, source } of directives) {
      const [name = '', ...values] = source.trim().split(/[ \t]+/);
      const [first = '', second = ''] = values;
      if (name === '%TAG' && values.length === 2) {
        this.#prefixes.set(first, second);
      } else if (name === '%YAML') {
        if (values.length !== 1 || first !== '1.1') {
          throw new ManifestSyntaxError(`${name} ${excerpt(first)} is not supported`, offset, 'Remove the %YAML line.');
        }
      } else {
        throw new ManifestSyntaxError(`Directive ${excerpt(name)} is not supported`, offset, 'Remove this line.');
      }
    }
  }

  /** The whole name of a tag, such as `tag:yaml.org,2002:int` for `!!int`; `!` and local tags stay as they are. */
  resolve({ offset, source }: CST.SourceToken): string {
    if (source === '!') return source;
    if (source.startsWith('!<')) {
      if (!source.endsWith('>') || source === '!<!>' || source === '!<!!>') throw invalidTag(offset);
      return source.slice(2, -1);
    }
    const handleEnd = source.lastIndexOf('!') + 1;
    const handle = source.slice(0, handleEnd);
    const prefix = this.#prefixes.get(handle);
    if (handleEnd === source.length || (prefix === undefined && handle !== '!')) throw invalidTag(offset);
    if (prefix === undefined) return source;
    try {
      return prefix + decodeURIComponent(source.slice(handleEnd));
    } catch {
      // Only an invalid percent escape makes the decoder throw.
      throw invalidTag(offset);
    }
  }
}

/** Does not quote the tag, because it may be a password that begins with an exclamation mark. */
function invalidTag(offset: number): ManifestSyntaxError {
  return new ManifestSyntaxError('The tag is not known', offset, 'Remove it, or quote the value.');
}
