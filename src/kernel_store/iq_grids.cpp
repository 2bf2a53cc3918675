// SPDX-License-Identifier: MIT
// The grids of GGUF's IQ types, made by a script from the tables of ggml-common.h;
// tests/interop/dequantize.py compares the results.
#include "kernel_store/iq_grids.hpp"

#include <array>
#include <string_view>

namespace hiptool::kernel_store {
namespace {

/// A grid is a subset of all points whose coordinates have one of `levels` codes each. The points
/// are numbered with the first coordinate as the lowest digit, and each character gives the number
/// of points left out before the next one of the grid: ']' is 0 and '}' is 32; '~' leaves out 33
/// and adds none.
struct Grid {
  unsigned levels;
  unsigned bits;  ///< of a code
  unsigned step;  ///< from one code to the next
  unsigned first_code;
  std::string_view gaps;
};

// clang-format off
constexpr Grid grids[] = {
    // IQ2_XXS
    {3, 2, 1, 0,
     "]^^^^^^b^`^^^bb`^b^bhd^b`jzhh^n~_v^bf^b^`hf^bhb^`hjp^ft^nznb`^bh`^b^rtt~sf~~`^bfdnhb`jbhndf~k"
     "f~mbh`hp~e|~]j~~^^bnxv`~~^~i~g^brld^~md~k^~~j^bnj~cxp~~zth~k~~~w~o^bb`^bbd`f^bnnxd`tdtdfzbh~_"
     "lrf~w~~l^bn`~m~e`f~s|nb`b^~_btv~i~~`~~j^t~~d~a~efb|~w~w~~hbntz~c~sz~_`~~p^~i~~~~^~~~~~~l^bpxx"
     "hh~{~~b^b`jn~_|~]rpn~a~~l~~r~~dbhb~ir~c~u~mpf~~r~~~~~k~g~~~~j~]rz~~d~~z~~~~~~~}~k"},
    // IQ2_XS
    {3, 2, 1, 0,
     "]^^^^^^^^^^^^`^^^^^^^`^b^^^`^`^f^^^^^^^^^^b^^^`^bb`^bn^^^`^bf^b`jdp^^^^^^^`^b^^^`^^`f^bn^^^`^"
     "bf^bfdx^bj`^xt^^^^^^b`b^bbhnd^^bnxbpnb~g`f^^^^^^^`^b^^^`^bd^^bn^^^`^bf^bnh^j^^`nn~_^^^`^bf^`^"
     "hbx^bn~qhr~k^b^lhpr`~i~~^~e^^^^^^^bf^bnnf^bnbl|p~]t`^bl^~qxf|hl~w`b^frpj~uhth~a`^p^^^^^^^`^b^"
     "^^^^^b`b^bn^^^`^bf^bn`ld^b^j^~q^^^`^`^f^bnhl^bhb~gfdrb~i^bn`dd~]fpbl|~~h^^^`^bb`^bnx^b`j^~oz~"
     "m^^bfdnfndb~kb~c|rdhld~]xf^~~~gt^bnhdhp^~~~_jzlj~~fn`~g~~r~o~m~{~]d~]^^^`^bd^^bn^r^^^^`nfb~an"
     "~_^lb`^b^^jnlpz~ip~axblrf^rd~~z~]bdf`^bnjltpx~~dpp`vbb~{~a^~g~~t~c~a~w|~_^`^fd~i~ib~]`^`pxn~_"
     "~c~~~~hppf^`~kbb~q^~i^~al"},
    // IQ2_S
    {3, 2, 1, 0,
     "]^^^^^^^^^^^^`^^^^^^^`^^^^^^^`^b``^^^^^^^^`^b^^^`^^^^`^`^b^^b^b^^^`^bd^^^^^`j```dd^^^^^^^`^^^"
     "^^^^^^^^^^^^b^^^^`^`^b^^^^^^^^^`^`^^^^^^^`^b^^^`^bf^^^^`j`^`^bf^bn^^^`^^^^``^^^^^^^^`^b`dj^^b"
     "^^^`d`^`^bfdnf^d`^f~]h^^^^^^^`^^`^^^`^^^^^^^`^^``^`^b^^^^^^^^^^^^`^^^^^^^`^b^^^`^l^`^`b^b`b^l"
     "^bn^^^`^^^^`^`^^^^^^^`^b^^^`^bf^^^^^^^`^b^^^`^bf^bn`^`^bf^bnv^^^^^`^`d^^^`^bf^t^^^`^bf^blrfbn"
     "j~c^^^`^^^^``^^b^^dbd`j^^b^^bd^^b^bf^bndh`^`bt^l`^^^^`^`^b^^^`^bf^bn`^`^bf^bj`x^bnl~a`b^l^bvn"
     "^^b~urhxh^p^^^^^^^^^^^`^^^^^^^^^^^b^b`^`^b^^^`^^^^^^b^^^^^^^`^b^^^`^bf^b^^^bb`^`^bf^t^^^^^^^^"
     "^^^^`^^^^^^^`^b^^^`^bf^^^^^^^`^b^^^`^bd^^bn^^^`^bf^bnrb^`^^^^`^b^^^`^bhbn^^^`^bf^bnjj^bn~q^^^"
     "`^^^^^^^`^^^^^^^`^b^^^`^l^^^^^^^`^b^^^`^bf^bn`^`^bf^bl^x^^^^^^^`^b^^^`^bf^bn^^^`^bf^bnx^bj`~q"
     "^^^`^bf^bdfx^bn~ql~ep`^^`^^^`^b`^`^bhbn^^^`^bf^bnljbnj|d`^`^bf^bnx^bndljl~}l^b~cphv~~n~gd^^^`"
     "^`^`b^b^^^`d`b^l^`^^^^`^b^^^`^l^bl^``^^l^b~i^^^^^^^`d^^^`^bf^bn^^^`^bf^bndp^bl^~q`b^l^b~ad^tr"
     "~or^hnd^`^^^^bb^^^`^bf^bn`b^l^bd~a^bn~m`^^^`^bf^bnjj^bn~e`d|l~]^bj`~o^~]`~~~cn```db^^b~abxr~]"
     "bh`^z`^l`^bn~]jbl~~~_~ol~m~ipx^f^`~_p"},
    // IQ3_XXS
    {8, 4, 1, 0,
     "]^^a^`]^ceu^`^a^c`_^cghd^^ac^c^`fbj`b]^g~^opagh^`bol~nsp`^qjl^a^c^a^^g]t^cc^~j^a^cc~]b^jeilg`"
     "~^~c`noh~~gj|^c^a^`_e{^^_^ccw`]d^cb]^i]ipc`~g`}jtpfw~~_^gsxc^c^qiab^jeg^w^aiqlkn~xkobbhw{nq~c"
     "qpgj^h`~~gpk]lbmz{~`g}jq~~g_^j~mssdbls{j|d~dyg`~^ds~~i~gj~ml^jy|z~`~_b~~`}~`~l~cj~m^^]nl~gf~e"
     "warijq}l{^n~~^"},
    // IQ3_S
    {8, 4, 2, 1,
     "]]]_^]]]^^^]`ba^_^^^a^c__]]]^`]`__`^`ci`ab]`^]___`_`b_^^^i_db`_^c^_b`^i^`_g`^_bb_bkf^h^`ab`^k"
     "ag_^jmkc^^h^`ai`p]]^`]^^^]^c_^j^_eb]^_^`ac_bc^jb^f_^]`bb_f_fc__]_bb]`ambg^a^i^c`^`qc_bc^k~b`_"
     "i^w^a^ch`mbd]^^^]^^^_^`]^c^^_^i]_^_^b_`__`_bct__f^ac^f`f_`^_`e^a^cbjgbe_c_`u_caei]gid^afx`p`i"
     "^gavc^^^_c^^a^_^fbd^^ca^ilf`^fbf^huc`a^`]e^`bjdba`cmb`ic^gaffioo|^i^g~^`bb`__cclfa^^cbabb`p^a"
     "a`fak_bha^a^c`~^^ng]uh^f}umptaggbub`bj`__hba^^ace|befabisa]kiahbb_hfh~_ho^~r|^j~r^^h^qllcyrnb"
     "gabdhak~pjkj_upqw~d^~p`_e^h^hblcgk^x_`b_cmut_jr`bat~el|s~b"},
    // IQ1
    {3, 2, 1, 0,
     "]^^^^^_a^`^ab^^da^`^aa^`^`]b^^^]ab`^`^`^^^]cb^^da^`^aa^`^abba`^^`^^__^^`^g^^dbbb``]kbbb^]]d^^"
     "d^``]]^]]^^^^^^^e_^^^^]]^j`h^b^^^_]`^bb^`g^`^aa^`^ab`da^`^aa^`^ab^`a]bd]_b^`h^^^ba^`^aa^`^abb"
     "__a^^^^aa^`^f]^`a]b^b`^`^]_h^^a_b^^^^^^^`^`b`]]]]]]^^`dd^b^l^^daa^`^^^`^db^^db`^a]^]_`a_]]^^^"
     "]]^`^^b`^_]^]]^^]_`^`^^]]^^^^^^^^]]a]]]]^]^^]]^^^]]^^]]^]]^]]^^b^]]d]]^^``^]]^^^_]]]_^]^]]b__"
     "^d`h`db^^^^`^^]]^^^bb^fj^^`^_c]]^`^]]^]]``d_]^^``^ecc^c^^^^^^``^bb`_f^`^aa^^^^abb__a^`^aa^^^^"
     "ab^`bc]`b^^^^]]daa^bba^^_a^`^ab`^bba^^_a^`^ad^^bd]]^`^^^bdb^`__hbbb^`^`^]_`^^f^_]^^^^^^ba^abb"
     "bba]ba^`df^`^aa^`^ab^fa^`^f^`^d_^`bf^`^b^^^baa^a]a^`^f^`^ab`^ba^`^aa^`^ab`dh`^^^^^^l`_``]^^^`"
     "^]]^^`^b^^^^]]^]a^^^^^`^^a]]gb^^dbf^```eafbh_eb^^^^]]a]^^^^`^^^^a]b_]^`^^]]^^``^^]]^^]^]]]]_^"
     "]]^`]]^`^]]^]a^^^__a]^^^^`^^^^_]]^]^`^^`_``]b^^db_`aca^`^`^^^bb^^^bb_]_]_]^`^^```^]]]]^^^^]_b"
     "^`^]]`^^^ll^^b^^``jfb^]]^`^`^^`^`^`^]]^b^d^b^_]`^b^]]^^]]]]^`]]^^^]]^^]]]]]]]]^^]]^`^b^]]^^``"
     "^`b^`^^d^`^^]]^`^ea^^_]`e]b^]]]]__^^^^]]^]]]^]]]]]^]]]]^^b^^^]]^_^]`^]]]]^^]]]]]^]^^]]^^]]]]]"
     "]]^]]]]]]]]]]^]]]]]^^]_]]]^]]]]_^]]^^]]]^]]_^]^]^]]]]]]]__]]]]]]]]]]]]]^^]_`^]]]]^_`_^]]]a]]^"
     "^`^`ca^^^^]]]]^^]]ca^^^^`b_]^`^^]]^bb^]]^^]]]]]]]]^^]]^____^]]]]bd_c`]`]^b^]__]]]`^^^^c_^]]^^"
     "hd^^bdb`]]^^^^^_idb^^^`^b]_^b___]^b]_`a_^b`^h`^g]`d]]_ib`dk]^]_^`^^^^^^^^]]^]]^^d]_^^]]]]^^^`"
     "b^^^_]^j]]^^]^]]^_^]]^c^]^_]^]_^]]aabaa]]^`^^^^]]]^]`^_^^``^]]^_^_k^bbf^`^bbbada^b`b^^^^]_]]`"
     "^]]^^``_]aab^]_h`]i^`^`^^`]_cc_^b`^`^f^`^aa]^^^ba^`^aa^`^ab^^^bb^`^^^]]]a^^b_a^^ba^`^aa^`^g^`"
     "ba^`^aa^`^i`h^c_`^^`j`hb`^`b^^]_^`^]]^]a]]^^^^^^^^^dj`^bb^`]]`_]^`_abc`b^`^aa^`^^_b^`b_^^`^aa"
     "^`^a]a^^db^^^^^^`^^ff^ba^`^aa^`^ab^^i^`^aa^`^ab`]]bb`^b^^d]ab^^^bb^^^^`^^^^^^^`a]^]]^`^d^b^^`"
     "^^^bb^`bd^^^^^^d^bd^g_^^``^d`d^^]]]]^]]^d^b]]^`b^`^^]]^]]^___]^^]]^^]]]]]]]]^^]]^__^`]]]]^]]^"
     "^^^^^b`_^a^b^]_]^]^b^a]`]_]]d^^bf^bb``^^]_`]eb`^bd^^^^^^^]]^^`^^^^^^]]^`^]_^^b^^`^`deed^^^`^`"
     "hb^]]i^`^aa^`^ab^^^g^`^aa^`^a__^^^]k^__^^^^fa^_^i`^]c``^ab`^ba^`^aa^`^mbb^b_]^^^_]]]bx^^^^^d^"
     "`^b^]]^b`^^]]^`^^lb`_^_d^__^]]_^h``]^_^^`^`^f^`^g^^^g^`^aa^`^ad`__bd``^`^gai^`^f^`^g^^i^`^aa^"
     "`^"},
};
// clang-format on

constexpr std::uint16_t pack_point(const Grid& grid, unsigned point) {
  unsigned word = 0;
  for (unsigned shift = 0; shift < 16; shift += grid.bits) {
    word |= (point % grid.levels * grid.step + grid.first_code) << shift;
    point /= grid.levels;
  }
  return static_cast<std::uint16_t>(word);
}

constexpr auto words = [] {
  std::array<std::uint16_t, iq_grid_words> all{};
  std::size_t count = 0;
  for (const Grid& grid : grids) {
    unsigned point = 0;
    for (const char gap : grid.gaps) {
      point += static_cast<unsigned>(gap - ']');
      if (gap != '~') all[count++] = pack_point(grid, point++);
    }
  }
  return all;
}();
static_assert(words.back() == 0xaaaa, "all words are there");

}  // namespace

std::span<const std::uint16_t> iq_grids() { return words; }

}  // namespace hiptool::kernel_store
