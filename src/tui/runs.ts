/** A piece of a row in one style of the terminal. */
export interface Run {
  text: string;
  /** Parameters of the sequence for the style. Empty for none. */
  style: string;
}

// eslint-disable-next-line no-control-regex -- the sequence of a style
const styleSequence = /\u001b\[([\d;]*)m/;

/** The pieces of a text with sequences for bold, inverse and colors. Neighbours differ in style. */
export function runsOf(line: string): Run[] {
  const runs: Run[] = [];
  let style: Style = plain;
  for (const [index, piece] of line.split(styleSequence).entries()) {
    // Every second piece is the parameters of a sequence.
    if (index % 2 === 1) style = styleAfter(style, piece);
    else runs.push({ text: piece, style: styleText(style) });
  }
  return runs.reduce<Run[]>((merged, run) => {
    const last = merged.at(-1);
    if (last?.style === run.style) last.text += run.text;
    else if (run.text !== '') merged.push(run);
    return merged;
  }, []);
}

/** The parameter of each attribute, or an empty text. */
interface Style {
  bold: string;
  inverse: string;
  color: string;
}

const plain: Style = { bold: '', inverse: '', color: '' };

const styleText = ({ bold, inverse, color }: Style): string => [bold, inverse, color].filter(Boolean).join(';');

function styleAfter(before: Style, parameters: string): Style {
  return (parameters.match(/38;5;\d+|\d+/g) ?? ['0']).reduce((style, parameter) => {
    switch (parameter) {
      case '0':
        return plain;
      case '1':
        return { ...style, bold: parameter };
      case '22':
        return { ...style, bold: '' };
      case '7':
        return { ...style, inverse: parameter };
      case '27':
        return { ...style, inverse: '' };
      case '39':
        return { ...style, color: '' };
      default:
        return { ...style, color: parameter };
    }
  }, before);
}
