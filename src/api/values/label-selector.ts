import { UserError } from '../../errors.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * Parses a selector such as `app=web,tier!=test,env in (a,b),!old`. Returns a function that is true for selected
 * labels. Throws a `UserError` if the text is not a selector. kubelet: apimachinery labels/selector.go Parse
 */
export function parseLabelSelector(text: string): (labels: Labels) => boolean {
  // A comma within parentheses separates values.
  const requirements = text.split(/,(?![^(]*\))/).map((part) => parseRequirement(part.trim(), text));
  return (labels) => requirements.every((isMet) => isMet(labels));
}

const key = String.raw`[\w./-]+`;
const exists = new RegExp(`^(!?)\\s*(${key})$`);
const equals = new RegExp(`^(${key})\\s*(==?|!=)\\s*([\\w.-]*)$`);
const isIn = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([\\w.,\\s-]*)\\)$`);

function parseRequirement(part: string, text: string): (labels: Labels) => boolean {
  const [, not, name = ''] = exists.exec(part) ?? [];
  if (not !== undefined) return (labels) => (labels[name] === undefined) === (not === '!');
  const [, equalKey = '', operator, value] = equals.exec(part) ?? [];
  if (operator !== undefined) return (labels) => (labels[equalKey] === value) === (operator !== '!=');
  const [, inKey = '', word, values = ''] = isIn.exec(part) ?? [];
  if (word === undefined) {
    throw new UserError(`"${text}" is not a label selector`, { hint: 'Write it as app=web,tier!=test.' });
  }
  const wanted = new Set(values.split(',').map((entry) => entry.trim()));
  return (labels) => wanted.has(labels[inKey] ?? noLabel) === (word === 'in');
}

/** Not a possible label value. */
const noLabel = '\0';
