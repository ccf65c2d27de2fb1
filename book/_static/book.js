/* Let a phone scroll pictures that are too wide to be read on it. */
document.addEventListener('DOMContentLoaded', () => {
  for (const picture of document.querySelectorAll('article img')) {
    const mark = () => {
      if (picture.naturalWidth > 1.8 * picture.naturalHeight) {
        picture.parentElement.classList.add('wide-picture');
        picture.parentElement.tabIndex = 0;
      }
    };
    if (picture.complete) mark();
    else picture.addEventListener('load', mark);
  }
});
