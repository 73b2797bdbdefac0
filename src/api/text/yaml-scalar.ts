import { CST } from 'yaml';
import { decodeBase64 } from './base64.ts';
import { type ManifestNode, ManifestSyntaxError, ManifestWordError } from './manifest-node.ts';
import { resolveYamlScalar, type ResolvedScalar } from './resolve-yaml-scalar.ts';
import { expectNoContent } from './yaml-tokens.ts';

type ScalarToken = CST.FlowScalar | CST.BlockScalar;

/** The value of a scalar, by its tag, else its quotes, else its text. */
export function readScalar(token: ScalarToken, tag: string | undefined): ManifestNode {
  const start = token.offset;
  const resolved = resolveTagged(token, tag, scalarText(token));
  if (resolved.kind === 'notFinite') {
    throw new ManifestSyntaxError(`JSON has no ${resolved.text}`, start, 'Put it in quotes if it is text.');
  }
  return { start, ...resolved };
}

/** The text of a scalar: with lines folded, escapes replaced and indentation removed. */
function scalarText(token: ScalarToken): string {
  if (token.type !== 'block-scalar') expectNoContent(token.end);
  const text = CST.resolveAsScalar(token, false, (offset, code, message) => {
    // The library reports the end of the text, far from the mistake.
    if (code === 'MISSING_CHAR') {
      throw new ManifestSyntaxError('The quote that begins here has no end', token.offset, 'Close the quote.');
    }
    const WrongScalar = code === 'BAD_SCALAR_START' ? ManifestWordError : ManifestSyntaxError;
    const hint = code === 'BAD_DQ_ESCAPE' ? escapeHint : 'Put the whole value in quotes.';
    throw new WrongScalar(withoutValue(message), offset, hint);
  });
  return text.value;
}

const escapeHint = "Inside double quotes write \\\\ for a backslash and ' for a single quote, or use single quotes.";

/** These messages of the library end with a part of the value, which may be a secret. */
const withoutValue = (message: string): string =>
  message.replace(/^(Block scalar header includes extra characters|Invalid escape sequence).*$/s, '$1').slice(0, 200);

const standardTags = 'tag:yaml.org,2002:';
const kindsByTag: Readonly<Record<string, readonly string[]>> = {
  bool: ['bool'],
  int: ['number'],
  float: ['number', 'notFinite'],
  null: ['null'],
};

function resolveTagged(token: ScalarToken, tag: string | undefined, text: string): ResolvedScalar {
  if (tag === undefined) return token.type === 'scalar' ? resolveYamlScalar(text) : { kind: 'string', value: text };
  if (tag === '!') return resolveYamlScalar(text);
  const name = tag.startsWith(standardTags) ? tag.slice(standardTags.length) : '';
  if (name === 'binary') return { kind: 'string', value: decodeBinary(text, token.offset) };
  const kinds = Object.hasOwn(kindsByTag, name) ? kindsByTag[name] : undefined;
  if (!kinds) return { kind: 'string', value: text };
  const resolved = resolveYamlScalar(text);
  if (kinds.includes(resolved.kind) && !(name === 'int' && 'text' in resolved && !/^-?[0-9]+$/.test(resolved.text))) {
    return resolved;
  }
  // The message leaves out the value because it may be a secret.
  throw new ManifestSyntaxError(`The value is not of the type of its tag !!${name}`, token.offset);
}

function decodeBinary(text: string, start: number): string {
  const bytes = decodeBase64(text);
  if (!bytes) throw new ManifestSyntaxError('!!binary value is not valid base64', start);
  return new TextDecoder().decode(bytes);
}
